// Makes a list look like a fresh one and leaves what is the same alone: focus and selection stay where they are.
"use strict";

const watchMorph = (() => {
  const isAlike = (one, other) => one.nodeName === other.nodeName && one.dataset?.key === other.dataset?.key;

  const attributes = (old, fresh) => {
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name)) {
        old.removeAttribute(name);
      }
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value) {
        old.setAttribute(name, value);
      }
    }
  };

  const children = (old, fresh) => {
    let next = old.firstChild;
    for (const wanted of [...fresh.childNodes]) {
      let found = next;
      while (found && !isAlike(found, wanted)) {
        found = found.nextSibling;
      }
      if (!found) {
        old.insertBefore(wanted, next);
        continue;
      }
      while (next !== found) {
        const passed = next;
        next = next.nextSibling;
        passed.remove();
      }
      next = found.nextSibling;
      node(found, wanted);
    }
    while (next) {
      const left = next;
      next = next.nextSibling;
      left.remove();
    }
  };

  const node = (old, fresh) => {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== fresh.nodeValue) {
        old.nodeValue = fresh.nodeValue;
      }
      return;
    }
    attributes(old, fresh);
    children(old, fresh);
  };

  return { children };
})();

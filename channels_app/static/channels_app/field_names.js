// A field that searches as one types is named by its value, which may be empty: its label names it, too.
window.addEventListener("load", () => {
  // The fields are made when jQuery is ready: asked last, it calls this after them.
  window.django?.jQuery?.(() => {
    for (const select of document.querySelectorAll("select.select2-hidden-accessible")) {
      const [label] = select.labels;
      const value = select.nextElementSibling.querySelector("[role=textbox]");
      if (label && value) {
        label.id ||= `${select.id}-label`;
        value.setAttribute("aria-labelledby", label.id);
        value.closest("[role=combobox]").setAttribute("aria-labelledby", `${label.id} ${value.id}`);
      }
    }
  });
});

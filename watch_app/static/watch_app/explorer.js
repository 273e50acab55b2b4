// The life of a message: while it goes on, the page looks again; and commands are copied by a button.
document.addEventListener("DOMContentLoaded", () => {
  const box = document.getElementById("life");
  let shown = "";
  let wait = 1500;

  const look = async () => {
    const address = new URL(location.href);
    address.searchParams.set("part", "life");
    // Away for a moment, or logged out: the next look may find it.
    const answer = document.hidden ? null : await fetch(address).catch(() => null);
    const told = answer?.ok && !answer.redirected ? await answer.text() : null;
    if (told && told !== shown && !isReading()) {
      wait = 1500;
      shown = told;
      show(told);
    }
    // What rests for long is looked at less often.
    wait = Math.min(wait * 1.2, 10000);
    lookLater();
  };

  // Nobody's selection is taken away.
  const isReading = () => !document.getSelection().isCollapsed && box.contains(document.getSelection().anchorNode);

  // What somebody has opened stays open, and what has the focus keeps it.
  const show = (told) => {
    const open = [...box.querySelectorAll("details[open]")].map((part) => part.id);
    const focused = box.contains(document.activeElement) ? document.activeElement.id : "";
    box.innerHTML = told;
    for (const id of open) {
      document.getElementById(id)?.setAttribute("open", "");
    }
    document.getElementById(focused)?.focus({ preventScroll: true });
  };

  const lookLater = () => {
    if (box.querySelector("[data-life-open]")) {
      setTimeout(look, wait);
    }
  };

  const copy = async (button) => {
    const command = button.parentElement.querySelector("pre");
    // Without TLS a browser has no clipboard for pages: what is selected can still be copied.
    const copied = await navigator.clipboard?.writeText(command.textContent).then(
      () => true,
      () => false,
    );
    button.textContent = copied || copySelected(command) ? "Copied" : "Selected: copy it with the keyboard";
    setTimeout(() => (button.textContent = "Copy as curl"), 2000);
  };

  const copySelected = (command) => {
    document.getSelection().selectAllChildren(command);
    return document.execCommand("copy");
  };

  box.addEventListener("click", (event) => {
    if (event.target.matches("[data-copy]")) {
      copy(event.target);
    }
  });
  lookLater();
});

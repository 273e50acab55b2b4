// While an operation is under way its page asks how far it is; when that changes what can be done, the page is loaded anew.
document.addEventListener("DOMContentLoaded", () => {
  const box = document.querySelector("[data-progress-open]");
  if (!box) {
    return;
  }
  const status = box.querySelector("span").textContent.trim();
  const look = async () => {
    // Away for a moment, or logged out: the next look may find it.
    const answer = await fetch(box.dataset.progressUrl, { headers: { Accept: "application/json" } }).catch(() => null);
    const told = answer?.ok && !answer.redirected ? await answer.json() : null;
    if (told && told.status !== status) {
      location.reload();
      return;
    }
    if (told) {
      show(told);
    }
    setTimeout(look, 2000);
  };
  const show = (told) => {
    box.querySelector("[data-progress-words]").textContent = told.words;
    box.querySelector("[data-progress-fill]").style.width = `${told.percent ?? 0}%`;
    box.querySelector("[role=progressbar]").setAttribute("aria-valuenow", told.percent ?? 0);
  };
  setTimeout(look, 2000);
});

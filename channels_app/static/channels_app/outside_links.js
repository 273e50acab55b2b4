// Links of the sidebar that lead out of the admin open in a new tab: a half-filled form stays where it is.
document.addEventListener("DOMContentLoaded", () => {
  for (const link of document.querySelectorAll("#nav-sidebar-apps a")) {
    if (link.origin !== location.origin || !link.pathname.includes("/admin/")) {
      link.target = "_blank";
      link.rel = "noopener";
    }
  }
});

// Times in the viewer's zone; pointing at one tells it in UTC. Without this script they are UTC, and say so.
"use strict";

const watchTimes = (() => {
  const looks = {
    second: { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
    minute: { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
    day: { day: "numeric", month: "short" },
    moment: { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
  };
  const formats = Object.fromEntries(
    Object.entries(looks).map(([name, look]) => [name, new Intl.DateTimeFormat("en-GB", look)]),
  );
  const utc = (at) => `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;

  const write = (place, at, look = place.dataset.time) => {
    place.dateTime = at.toISOString();
    place.textContent = formats[look].format(at);
    place.title = utc(at);
  };

  const localise = (root) => {
    for (const place of root.querySelectorAll("time[data-time]")) {
      write(place, new Date(place.dateTime));
    }
  };

  const zone = (at) => {
    const minutes = -at.getTimezoneOffset();
    const size = Math.abs(minutes);
    const rest = size % 60 ? `:${String(size % 60).padStart(2, "0")}` : "";
    const offset = minutes ? `UTC${minutes < 0 ? "−" : "+"}${Math.floor(size / 60)}${rest}` : "";
    const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
    return offset ? `Times are in ${name} (${offset}); point at one for UTC.` : "Times are UTC.";
  };

  return { localise, write, zone };
})();

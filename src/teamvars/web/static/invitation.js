"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const message = at("message"), accept = at("accept"), copy = at("copy");
  const secret = location.hash.slice(1);
  // One for all presses: a press that is repeated does not accept twice.
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16))
    .join("-");
  const dead = "This link is no longer valid. Ask whoever invited you for a new one.";

  const ask = async (action, headers) => {
    const answer = await fetch(`/api/v2/invitations/actions/${action}`, {
      method: "POST",
      headers: { "Content-Type": "application/vnd.api+json", ...headers },
      body: JSON.stringify({ data: { type: "invitations", attributes: { secret } } }),
      credentials: "omit",
      cache: "no-store",
    });
    const document = await answer.json();
    return { status: answer.status, data: document.data, error: (document.errors || [])[0] };
  };

  const unreachable = () => {
    message.textContent = "The service cannot be reached just now. Try again in a moment.";
    accept.disabled = false;
  };

  const offerAgain = () => {
    accept.hidden = accept.disabled = false;
    accept.textContent = "Try again";
    accept.onclick = () => location.reload();
  };

  const tell = (found) => {
    if (found.status === 422) message.textContent = dead;
    else if (found.error) message.textContent = found.error.detail;
    else unreachable();
    accept.hidden = found.status < 500 && found.status !== 429;
    accept.disabled = false;
  };

  const show = async () => {
    const found = await ask("show", {});
    if (found.status !== 200) {
      tell(found);
      if (!accept.hidden) offerAgain();
      return;
    }
    const said = found.data.attributes;
    const who = said.inviter === null ? "You are invited" : `${said.inviter} invites you`;
    const until = new Date(said["expires-at"]).toLocaleString();
    message.textContent = `${who}, as ${said.email}, to the organization ${said.organization}. ` +
      `This link is good until ${until}, for one use.`;
    accept.hidden = !said["first-token"];
    if (accept.hidden) {
      message.textContent += " You already have an account here: accept with a token of your own, by " +
        `"teamvars login accept ${said.organization}".`;
    } else {
      accept.focus();
    }
    accept.onclick = () => take(said.organization).catch(unreachable);
  };

  const take = async (organization) => {
    accept.disabled = true;
    const made = await ask("accept", { "Idempotency-Key": key });
    if (made.status === 409) {
      message.textContent = "You have accepted, but the answer with your token was lost. " +
        "Ask whoever runs this service for another.";
      accept.hidden = true;
      return;
    }
    if (made.status !== 201) return tell(made);
    history.replaceState(null, "", location.pathname);
    accept.hidden = true;
    message.textContent = `Welcome to ${organization}.`;
    at("secret").textContent = made.data.attributes.token;
    at("token").hidden = false;
    copy.focus();
  };

  copy.onclick = async () => {
    try {
      await navigator.clipboard.writeText(at("secret").textContent);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(at("secret"));
      copy.textContent = "Selected: copy it now";
    }
  };

  if (secret === "") message.textContent = dead;
  else show().catch(() => {
    unreachable();
    offerAgain();
  });
})();

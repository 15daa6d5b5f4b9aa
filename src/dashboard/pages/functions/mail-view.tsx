export interface ShownMail {
  readonly subject: string
  readonly text: string
  readonly html?: string | undefined
}

/** A mail as its reader sees it. `html` is shown in a frame that runs no scripts and loads nothing. */
export function MailView({ mail, label }: { readonly mail: ShownMail; readonly label: string }) {
  const { subject, text, html } = mail
  return (
    <article class="mail" aria-label={label}>
      <h3>{subject || <span class="soft">(no subject)</span>}</h3>
      <pre>{text}</pre>
      {html !== undefined && (
        <>
          <p class="hint">As HTML, for mail programs that support it:</p>
          {/* A new frame for each mail: a frame that gets another document while it loads may show neither. */}
          <iframe key={html} title={`${label}, as HTML`} sandbox="" srcDoc={withoutLinks(html)} />
        </>
      )}
    </article>
  )
}

/**
 * Replaces `<link>` by an unknown element, which has no effect. Mail programs ignore this element, but a browser may
 * connect to its host in advance, which the page's content security policy does not prevent.
 */
function withoutLinks(html: string): string {
  return html.replace(/<link\b/gi, '<left-out')
}

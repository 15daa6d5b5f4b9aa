/** A mail as it would be read. `html` is shown in a frame in which nothing runs and nothing is fetched. */
export interface ShownMail {
  readonly subject: string
  readonly text: string
  readonly html?: string | undefined
}

export function MailView({
  mail: { subject, text, html },
  label,
}: {
  readonly mail: ShownMail
  readonly label: string
}) {
  return (
    <article class="mail" aria-label={label}>
      <h3>{subject || <span class="soft">(no subject)</span>}</h3>
      <pre>{text}</pre>
      {html !== undefined && (
        <>
          <p class="hint">As HTML, for mail programs that show it:</p>
          {/* Another frame for another mail: one that is told of the next while it opens may stay with neither. */}
          <iframe key={html} title={`${label}, as HTML`} sandbox="" srcDoc={withoutLinks(html)} />
        </>
      )}
    </article>
  )
}

/**
 * Programs that show mail leave `<link>` out. A browser would tell the host that it names of whoever looks: for connections
 * opened ahead the page's policy has no word. As an element of no name it does nothing.
 */
function withoutLinks(html: string): string {
  return html.replace(/<link\b/gi, '<left-out')
}

import { Copy } from '#dashboard/parts/copy'
import { useHeld } from '#dashboard/parts/unsaved'

/** Something that is shown this once: a key, a code, a secret. */
export function Secret({ label, text }: { readonly label: string; readonly text: string }) {
  useHeld()
  return (
    <div class="field">
      <span>{label}</span>
      <div class="command">
        <pre>
          <code>{text}</code>
        </pre>
        <Copy text={text} />
      </div>
      <small class="hint">It is shown only now: keep it where nobody else reads it.</small>
    </div>
  )
}

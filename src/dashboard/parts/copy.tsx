import { useState } from 'preact/hooks'
import { Button } from '#dashboard/parts/button'
import { useHeld } from '#dashboard/parts/unsaved'
import { after } from '#dashboard/world'

/** A button that copies a text to the clipboard, and confirms it. */
export function Copy({ text, label = 'Copy' }: { readonly text: string; readonly label?: string | undefined }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await copyText(text)
    setCopied(true)
    after(2_000, () => setCopied(false))
  }
  return (
    <Button kind="quiet" label={isCopied ? 'Copied' : label} onPress={copy}>
      {isCopied ? '✓ Copied' : 'Copy'}
    </Button>
  )
}

/** The clipboard API works only on https and loopback; elsewhere the text is selected and copied. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  const dialog = document.querySelector('dialog[open]') ?? document.body
  dialog.append(area)
  area.select()
  const isDone = document.execCommand('copy')
  area.remove()
  if (!isDone) throw new Error('the browser did not let it be copied: select it and copy it by hand')
}

/** A secret that is shown once: a key, a code, a password. */
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
      <small class="hint">It is shown only now. Keep it in a safe place.</small>
    </div>
  )
}

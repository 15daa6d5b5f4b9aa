import { useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { useLockedDialog } from '#dashboard/components/unsaved-input'
import { runAfter } from '#dashboard/timers'

/** A button that copies a text to the clipboard, and confirms it. */
export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string | undefined }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await copyText(text)
    setCopied(true)
    runAfter(2_000, () => setCopied(false))
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
  if (!isDone) throw new Error('The browser does not permit copying: select the text and copy it')
}

export interface CommandProps {
  /** The text to copy. */
  readonly command: string
  readonly label?: string | undefined
  /** The text to show; by default the text to copy. */
  readonly shown?: string
}

/** A shell command, or another text, with a button to copy it. */
export function Command({ command, label = 'Copy the command', shown = command }: CommandProps) {
  return (
    <div class="command">
      <pre>
        <code>{shown}</code>
      </pre>
      <CopyButton text={command} label={label} />
    </div>
  )
}

/** A secret that is shown once: a key, a code, a password. */
export function Secret({ label, text }: { readonly label: string; readonly text: string }) {
  useLockedDialog()
  return (
    <div class="field">
      <span>{label}</span>
      <Command command={text} label="Copy" />
      <small class="hint">Shown only once. Store it in a safe place.</small>
    </div>
  )
}

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'

export interface DialogProps {
  readonly title: string
  readonly isOpen: boolean
  /** Asked to close: by Escape, the cross, or a press beside it. */
  readonly onClose: () => void
  /** For long things to read or fill in. */
  readonly isWide?: boolean | undefined
  readonly children: ComponentChildren
}

/** Modal; the browser keeps the focus inside, and gives it back. What is inside is there only while it is open. */
export function Dialog({ title, isOpen, onClose, isWide, children }: DialogProps) {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  // Who selects text and lets go beside the dialog has clicked on what is around both: that closes nothing.
  const wasPressedBeside = useRef(false)
  useEffect(() => {
    const element = dialog.current
    if (isOpen && element && !element.open) element.showModal()
    if (!isOpen && element?.open) element.close()
  }, [isOpen])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the browser closes a dialog by Escape
    <dialog
      ref={dialog}
      class={isWide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onClose={onClose}
      onPointerDown={(event) => {
        wasPressedBeside.current = event.target === dialog.current
      }}
      onClick={(event) => {
        if (event.target === dialog.current && wasPressedBeside.current) onClose()
      }}
    >
      {isOpen && (
        <div class="dialog-inside">
          <header>
            <h2 id={id}>{title}</h2>
            <button type="button" class="button quiet" aria-label="Close" onClick={onClose}>
              ×
            </button>
          </header>
          {children}
        </div>
      )}
    </dialog>
  )
}

export interface ConfirmProps {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  /** Done when it is confirmed; then the dialog closes. A failure stands in it, and it stays open. */
  readonly onConfirm: () => unknown
  /** What confirming is called: the verb, not "OK". */
  readonly confirm: string
  readonly kind?: 'primary' | 'danger' | undefined
  /** What has to be typed first, where it cannot be taken back. */
  readonly typed?: string | undefined
  /** What will happen. */
  readonly children: ComponentChildren
}

export function Confirm(props: ConfirmProps) {
  const { title, isOpen, onClose, children } = props
  return (
    <Dialog title={title} isOpen={isOpen} onClose={onClose}>
      <div class="prose">{children}</div>
      <ConfirmForm {...props} />
    </Dialog>
  )
}

function ConfirmForm({ onClose, onConfirm, confirm, kind = 'danger', typed }: ConfirmProps) {
  const [text, setText] = useState('')
  const isTyped = typed === undefined || text.trim().toLowerCase() === typed.toLowerCase()
  return (
    <Form
      submit={confirm}
      kind={kind}
      onCancel={onClose}
      isDisabled={!isTyped}
      onSubmit={async () => {
        await onConfirm()
        onClose()
      }}
    >
      {typed !== undefined && (
        <TextField
          label={`Type ${typed} to confirm`}
          value={text}
          onInput={setText}
          autocomplete="off"
          isCode
          hasFocus
        />
      )}
    </Form>
  )
}

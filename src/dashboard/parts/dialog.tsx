import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Button, type ButtonProps } from '#dashboard/parts/button'
import { TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { Toasts } from '#dashboard/parts/toasts'
import { leave, type Place, PlaceHere } from '#dashboard/parts/unsaved'

export interface DialogProps {
  readonly title: string
  readonly isOpen: boolean
  /** Called to close: by Escape, the cross, or a click outside. */
  readonly onClose: () => void
  /** For long content. */
  readonly isWide?: boolean | undefined
  readonly children: ComponentChildren
}

/**
 * A modal dialog. The browser keeps the focus inside, and restores it afterwards. The content exists only while the
 * dialog is open. Closing asks first if there is unsaved input. Toasts appear inside, because the rest of the page is
 * out of reach, for screen readers too.
 */
export function Dialog({ title, isOpen, onClose, isWide, children }: DialogProps) {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  // A text selection that ends outside of the dialog must not close it.
  const wasPressedBeside = useRef(false)
  const [place] = useState<Place>({})
  const ask = () => leave(onClose, place)
  const askUnlessHeld = () => place.isHeld || ask()
  // Before effects read the focus.
  useLayoutEffect(() => {
    const element = dialog.current
    if (isOpen && element && !element.open) element.showModal()
    if (!isOpen && element?.open) element.close()
  }, [isOpen])
  return (
    <dialog
      ref={dialog}
      class={isWide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      // The event arrives later: by then the dialog may be open again.
      onClose={() => isOpen && !dialog.current?.open && onClose()}
      onCancel={(event) => {
        // The file chooser fires the same event when it is cancelled.
        if (event.target !== dialog.current) return
        event.preventDefault()
        askUnlessHeld()
      }}
      onKeyDown={(event) => {
        // The browser fires `cancel` once, and closes the dialog at the next Escape.
        if (event.key !== 'Escape' || event.isComposing || event.defaultPrevented) return
        event.preventDefault()
        askUnlessHeld()
      }}
      onPointerDown={(event) => {
        wasPressedBeside.current = event.target === dialog.current
      }}
      onClick={(event) => {
        if (event.target === dialog.current && wasPressedBeside.current) askUnlessHeld()
      }}
    >
      {isOpen && (
        <PlaceHere.Provider value={place}>
          <div class="dialog-inside">
            <header>
              <h2 id={id} tabIndex={-1}>
                {title}
              </h2>
              <button type="button" class="button quiet" aria-label="Close" onClick={ask}>
                ×
              </button>
            </header>
            {children}
          </div>
          <Toasts />
        </PlaceHere.Provider>
      )}
    </dialog>
  )
}

export interface ConfirmProps {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  /** Runs on confirmation; then the dialog closes. If it fails, the dialog stays open and shows the failure. */
  readonly onConfirm: () => unknown
  /** The label of the confirmation: a verb, not "OK". */
  readonly confirm: string
  readonly kind?: 'primary' | 'danger' | undefined
  /** A text to type first, for actions that cannot be undone. */
  readonly typed?: string | undefined
  /** Explains the effect. */
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

export interface ConfirmButtonProps extends Omit<ConfirmProps, 'isOpen' | 'onClose'> {
  readonly button: ComponentChildren
  readonly buttonKind?: ButtonProps['kind']
  readonly label?: string | undefined
}

/** A button whose action runs after a confirmation. */
export function ConfirmButton({ button, buttonKind, label, ...confirm }: ConfirmButtonProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button kind={buttonKind} label={label} onPress={() => setOpen(true)}>
        {button}
      </Button>
      <Confirm {...confirm} isOpen={isOpen} onClose={() => setOpen(false)} />
    </>
  )
}

interface DialogButtonProps extends Pick<ButtonProps, 'kind' | 'label'> {
  readonly button: ComponentChildren
  readonly title: string
  readonly isWide?: boolean
  /** The content of the dialog. */
  readonly children: (close: () => void) => ComponentChildren
}

/** A button that opens a dialog. */
export function DialogButton({ button, kind, label, title, isWide, children }: DialogButtonProps) {
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <>
      <Button kind={kind} label={label} onPress={() => setOpen(true)}>
        {button}
      </Button>
      <Dialog title={title} isOpen={isOpen} onClose={close} isWide={isWide}>
        {isOpen && children(close)}
      </Dialog>
    </>
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

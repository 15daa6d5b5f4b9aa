import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Button, type ButtonProps } from '#dashboard/components/button'
import { TextField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Toasts } from '#dashboard/components/toasts'
import { confirmLeave, type InputScope, InputScopeContext } from '#dashboard/components/unsaved-input'

export interface DialogProps {
  readonly title: string
  readonly isOpen: boolean
  /** Called to close: by Escape, the cross, or a click outside. */
  readonly onClose: () => void
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
  const isPressOutside = useRef(false)
  const [scope] = useState<InputScope>({})
  const close = () => confirmLeave(onClose, scope)
  const closeUnlessLocked = () => scope.isLocked || close()
  // A layout effect, because it must run before effects that read the focus.
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
      // The event arrives late, and the dialog may be open again by then.
      onClose={() => isOpen && !dialog.current?.open && onClose()}
      onCancel={(event) => {
        // The file chooser fires the same event when it is cancelled.
        if (event.target !== dialog.current) return
        event.preventDefault()
        closeUnlessLocked()
      }}
      onKeyDown={(event) => {
        // The browser fires `cancel` once, and closes the dialog at the next Escape.
        if (event.key !== 'Escape' || event.isComposing || event.defaultPrevented) return
        event.preventDefault()
        closeUnlessLocked()
      }}
      onPointerDown={(event) => {
        isPressOutside.current = event.target === dialog.current
      }}
      onClick={(event) => {
        if (event.target === dialog.current && isPressOutside.current) closeUnlessLocked()
      }}
    >
      {isOpen && (
        <InputScopeContext.Provider value={scope}>
          <div class="dialog-inside">
            <header>
              <h2 id={id} tabIndex={-1}>
                {title}
              </h2>
              <button type="button" class="button quiet" aria-label="Close" onClick={close}>
                ×
              </button>
            </header>
            {children}
          </div>
          <Toasts />
        </InputScopeContext.Provider>
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
  readonly children: ComponentChildren
}

export function Confirm({ title, isOpen, onClose, ...confirm }: ConfirmProps) {
  return (
    <Dialog title={title} isOpen={isOpen} onClose={onClose}>
      <ConfirmForm {...confirm} onClose={onClose} />
    </Dialog>
  )
}

interface DialogButtonProps extends Pick<ButtonProps, 'kind' | 'label'> {
  readonly button: ComponentChildren
  readonly title: string
  readonly isWide?: boolean
  readonly children: (close: () => void) => ComponentChildren
}

/** A button that opens a dialog. The dialog is created on first use: a table may have a thousand buttons. */
export function DialogButton({ button, kind, label, title, isWide, children }: DialogButtonProps) {
  const [isOpen, setOpen] = useState<boolean>()
  const close = () => setOpen(false)
  return (
    <>
      <Button kind={kind} label={label} onPress={() => setOpen(true)}>
        {button}
      </Button>
      {isOpen !== undefined && (
        <Dialog title={title} isOpen={isOpen} onClose={close} isWide={isWide}>
          {isOpen && children(close)}
        </Dialog>
      )}
    </>
  )
}

export interface ConfirmButtonProps extends Omit<ConfirmProps, 'isOpen' | 'onClose'> {
  readonly button: ComponentChildren
  readonly buttonKind?: ButtonProps['kind']
  readonly label?: string | undefined
}

/** A button whose action runs after a confirmation. */
export function ConfirmButton({ button, buttonKind, label, title, ...confirm }: ConfirmButtonProps) {
  return (
    <DialogButton button={button} kind={buttonKind} label={label} title={title}>
      {(close) => <ConfirmForm {...confirm} onClose={close} />}
    </DialogButton>
  )
}

function ConfirmForm(props: Omit<ConfirmProps, 'title' | 'isOpen'>) {
  const { onClose, onConfirm, confirm, kind = 'danger', typed, children } = props
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
      <div class="prose">{children}</div>
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

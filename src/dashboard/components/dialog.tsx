import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Button, type ButtonProps } from '#dashboard/components/button'
import { TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { notify, Toasts } from '#dashboard/components/toasts'
import {
  CloseDialogContext,
  confirmLeave,
  type InputScope,
  InputScopeContext,
  pendingLeave,
  unsavedAddress,
} from '#dashboard/components/unsaved-input'
import { useObservable } from '#dashboard/components/use-observable'

export interface DialogProps {
  readonly title: string
  readonly isOpen: boolean
  /** Called to close: by Escape, the cross, a click outside, or the form inside. */
  readonly onClose: () => void
  readonly isWide?: boolean | undefined
  readonly children: ComponentChildren
}

/**
 * A modal dialog. The browser keeps the focus inside, and restores it afterwards. The content exists only while the
 * dialog is open. Escape, the cross and a click outside ask first if there is unsaved input. Toasts appear inside, because the rest of the page
 * cannot be used meanwhile, not even by screen readers.
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
      // When this event arrives, the dialog may be open again.
      onClose={() => isOpen && !dialog.current?.open && onClose()}
      onCancel={(event) => {
        // The file chooser fires the same event when it is cancelled.
        if (event.target !== dialog.current) return
        event.preventDefault()
        closeUnlessLocked()
      }}
      onKeyDown={(event) => {
        // After one `cancel` without other input, the browser closes the dialog at the next Escape.
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
            <CloseDialogContext.Provider value={onClose}>{children}</CloseDialogContext.Provider>
          </div>
          <Toasts />
        </InputScopeContext.Provider>
      )}
    </dialog>
  )
}

interface ConfirmProps extends Pick<DialogProps, 'title' | 'children'> {
  /**
   * Runs on confirmation; then the dialog closes, unless the result is false. If it fails, the dialog stays open and
   * shows the failure.
   */
  readonly onConfirm: () => unknown
  /** The text of a toast about the success. */
  readonly done?: string | undefined
  /** Called after the success. */
  readonly onDone?: (() => void) | undefined
  /** The label of the button that confirms: a verb, not "OK". */
  readonly confirm: string
  readonly kind?: 'primary' | 'danger' | undefined
  /** A text to type first, for actions that cannot be undone. */
  readonly typed?: string | undefined
}

interface DialogButtonProps
  extends Pick<ButtonProps, 'kind' | 'label'>,
    Pick<DialogProps, 'title' | 'isWide' | 'children'> {
  readonly button: ComponentChildren
}

/** A button that opens a dialog. The dialog is created on first use: a table may have a thousand buttons. */
export function DialogButton({ button, kind, label, title, isWide, children }: DialogButtonProps) {
  const [isOpen, setOpen] = useState<boolean>()
  return (
    <>
      <Button kind={kind} label={label} onPress={() => setOpen(true)}>
        {button}
      </Button>
      {isOpen !== undefined && (
        <Dialog title={title} isOpen={isOpen} onClose={() => setOpen(false)} isWide={isWide}>
          {children}
        </Dialog>
      )}
    </>
  )
}

export interface ConfirmButtonProps extends Omit<ConfirmProps, 'title'> {
  readonly button: string
  readonly buttonKind?: ButtonProps['kind']
  readonly label?: string | undefined
  /** By default the button's name as a question. */
  readonly title?: string | undefined
}

export function ConfirmButton({ button, buttonKind, label, title, ...confirm }: ConfirmButtonProps) {
  return (
    <DialogButton button={button} kind={buttonKind} label={label} title={title ?? `${label ?? button}?`}>
      <ConfirmForm {...confirm} />
    </DialogButton>
  )
}

export function ConfirmForm(props: Omit<ConfirmProps, 'title'>) {
  const { onConfirm, done, onDone, confirm, kind = 'danger', typed, children } = props
  const text = useField('')
  const submit = async () => {
    const result = await onConfirm()
    if (done !== undefined) notify(done)
    onDone?.()
    return result
  }
  const isTyped = typed === undefined || text.value.trim().toLowerCase() === typed.toLowerCase()
  return (
    <Form submit={confirm} kind={kind} isDisabled={!isTyped} onSubmit={submit}>
      <div class="prose">{children}</div>
      {typed !== undefined && (
        <TextField label={`Type ${typed} to confirm`} {...text} autocomplete="off" isCode hasFocus />
      )}
    </Form>
  )
}

/** Asks before unsaved input is lost, for every way to leave. Rendered once for the whole page. */
export function UnsavedGuard() {
  useEffect(() => {
    const listeners = new AbortController()
    const { signal } = listeners
    addEventListener('click', onClick, { capture: true, signal })
    addEventListener('popstate', onPopState, { signal })
    addEventListener('beforeunload', onBeforeUnload, { signal })
    return () => listeners.abort()
  }, [])
  const action = useObservable(pendingLeave)
  const stay = () => pendingLeave.set(undefined)
  return (
    <Dialog title="Leave without saving?" isOpen={action !== undefined} onClose={stay}>
      <ConfirmForm
        confirm="Leave"
        onConfirm={() => {
          // Close this dialog first, because the dialog below it restores the focus.
          stay()
          return action?.()
        }}
      >
        <p>Your input is not saved and will be lost.</p>
      </ConfirmForm>
    </Dialog>
  )
}

/** Asks before a link opens another page in this window. */
function onClick(event: MouseEvent): void {
  const link = (event.target as Element).closest<HTMLElement>('a[href^="#"]')
  const isElsewhere = event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey
  if (!link || isElsewhere || unsavedAddress() === undefined) return
  event.preventDefault()
  event.stopPropagation()
  confirmLeave(() => link.click())
}

/** The browser has already gone back, forward, or to another address: undoes this until the user confirms it. */
function onPopState(): void {
  const address = unsavedAddress()
  if (address === undefined || location.href === address) return
  history.pushState(null, '', address)
  confirmLeave(() => history.back())
}

/** The browser shows its own text. */
function onBeforeUnload(event: BeforeUnloadEvent): void {
  if (unsavedAddress() !== undefined) event.preventDefault()
}

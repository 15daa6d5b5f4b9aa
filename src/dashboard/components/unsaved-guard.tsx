import { useEffect } from 'preact/hooks'
import { Confirm } from '#dashboard/components/dialog'
import { confirmLeave, pendingLeave, unsavedAddress } from '#dashboard/components/unsaved-input'
import { useObservable } from '#dashboard/components/use-observable'

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
    <Confirm
      title="Leave without saving?"
      isOpen={action !== undefined}
      onClose={stay}
      confirm="Leave"
      onConfirm={() => {
        // Close this dialog first, because the dialog below it restores the focus.
        stay()
        return action?.()
      }}
    >
      <p>Your input is not saved and will be lost.</p>
    </Confirm>
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

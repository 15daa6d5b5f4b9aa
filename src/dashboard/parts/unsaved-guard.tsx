import { useEffect } from 'preact/hooks'
import { Confirm } from '#dashboard/parts/dialog'
import { asked, leave, unsavedAt } from '#dashboard/parts/unsaved'

/** Asks before unsaved input is lost, for every way to leave. One for the whole page. */
export function UnsavedGuard() {
  useEffect(() => {
    const listeners = new AbortController()
    const { signal } = listeners
    addEventListener('click', onClick, { capture: true, signal })
    addEventListener('popstate', onPopState, { signal })
    addEventListener('beforeunload', onBeforeUnload, { signal })
    return () => listeners.abort()
  }, [])
  const act = asked.value
  const stay = () => {
    asked.value = undefined
  }
  return (
    <Confirm
      title="Leave without saving?"
      isOpen={act !== undefined}
      onClose={stay}
      confirm="Leave"
      onConfirm={() => {
        // Close this dialog first: the one below it restores the focus.
        stay()
        return act?.()
      }}
    >
      <p>Your input is not saved and will be lost.</p>
    </Confirm>
  )
}

/** A link to another page, in this window. */
function onClick(event: MouseEvent): void {
  const link = (event.target as Element).closest<HTMLElement>('a[href^="#"]')
  const isElsewhere = event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey
  if (!link || isElsewhere || unsavedAt() === undefined) return
  event.preventDefault()
  event.stopPropagation()
  leave(() => link.click())
}

/** Back, forward, or another address. It has already happened, so it is undone until the user confirms. */
function onPopState(): void {
  const at = unsavedAt()
  if (at === undefined || location.href === at) return
  history.pushState(null, '', at)
  leave(() => history.back())
}

/** The browser shows its own text. */
function onBeforeUnload(event: BeforeUnloadEvent): void {
  if (unsavedAt() !== undefined) event.preventDefault()
}

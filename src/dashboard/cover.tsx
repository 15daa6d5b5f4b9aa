import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

/**
 * Stands before the whole page until it is taken away, and nothing else puts it away. Modal, because a dialog of the page
 * may be open: whatever it stands before is out of reach, and is found again as it was.
 */
export function Cover({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const show = () => {
    if (dialog.current && !dialog.current.open) dialog.current.showModal()
  }
  useLayoutEffect(() => {
    const { title } = document
    show()
    return () => {
      document.title = title
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class="cover"
      aria-label={label}
      // A browser that is asked often enough closes it whatever it is told.
      onClose={show}
      onCancel={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        if (event.key === 'Escape') event.preventDefault()
      }}
    >
      {children}
    </dialog>
  )
}

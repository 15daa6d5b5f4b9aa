import { createContext } from 'preact'
import { useContext, useLayoutEffect } from 'preact/hooks'
import { observable } from '#dashboard/components/use-observable'

/** Unsaved input, and the pending action that would lose it. */

/** Where the input is: in a dialog or on the page. Closing a dialog loses only its own input. */
export interface InputScope {
  /** Only a button closes the dialog: it shows a secret that cannot be shown again, or it runs changes. */
  isLocked?: boolean
}

export const InputScopeContext = createContext<InputScope>({})

/** Closes the surrounding dialog; undefined on a page. */
export const CloseDialogContext = createContext<(() => void) | undefined>(undefined)

const unsaved = new Set<{ readonly scope: InputScope }>()
/** The number of components whose input is kept if the session ends. Not all of them ask before the user leaves. */
let keptInputCount = 0
let address = ''

/** The action that waits for the user's confirmation. */
export const pendingLeave = observable<(() => unknown) | undefined>(undefined)

/**
 * While `isUnsaved`, the page asks before a link, the back button, a reload, signing out, or closing the dialog loses the
 * input; Cancel in the dialog does not ask. It does not ask either if a component sets `isUnsaved` to false and leaves in
 * the same task.
 */
export function useUnsaved(isUnsaved: boolean): void {
  const scope = useContext(InputScopeContext)
  useLayoutEffect(() => {
    if (!isUnsaved) return undefined
    const entry = { scope }
    unsaved.add(entry)
    address = location.href
    return () => {
      unsaved.delete(entry)
    }
  }, [isUnsaved, scope])
}

/** While `hasInput` (the input was changed, or a secret is shown), the page is kept if the session ends. */
export function useKeptInput(hasInput: boolean): void {
  useLayoutEffect(() => {
    if (!hasInput) return undefined
    keptInputCount += 1
    return () => {
      keptInputCount -= 1
    }
  }, [hasInput])
}

export function hasKeptInput(): boolean {
  return keptInputCount > 0
}

/** While `isLocked`, only a button closes the dialog, not Escape or a click outside. */
export function useLockedDialog(isLocked = true): void {
  const scope = useContext(InputScopeContext)
  useLayoutEffect(() => {
    scope.isLocked = isLocked
    return () => {
      scope.isLocked = false
    }
  }, [scope, isLocked])
}

export function unsavedAddress(): string | undefined {
  return unsaved.size === 0 ? undefined : address
}

/** Runs the action, after a confirmation if it would lose input of this scope; by default of any scope. */
export function confirmLeave(action: () => unknown, scope?: InputScope): unknown {
  const lost = [...unsaved].filter((entry) => scope === undefined || entry.scope === scope)
  if (lost.length === 0) return action()
  pendingLeave.set(() => {
    for (const entry of lost) unsaved.delete(entry)
    return action()
  })
  return undefined
}

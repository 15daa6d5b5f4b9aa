import { signal } from '@preact/signals'
import { createContext } from 'preact'
import { useContext, useLayoutEffect } from 'preact/hooks'

/** Unsaved input, and the pending action that would lose it. */

/** The place of the input: a dialog, which loses only its own input, or the page. */
export interface Place {
  /** Contains a secret that is shown once: only its own button closes it. */
  isHeld?: boolean
}

export const PlaceHere = createContext<Place>({})

interface Unsaved {
  readonly place: Place
}

const unsaved = new Set<Unsaved>()
/** The number of places with input, whether leaving asks about them or not. */
let filledIn = 0
let address = ''

/** The action that waits for the user's confirmation. */
export const asked = signal<(() => unknown) | undefined>(undefined)

/**
 * While true, leaving asks first: by a link, the back button, or closing the dialog. Saving and leaving may happen in
 * the same turn: then it does not ask.
 */
export function useUnsaved(isUnsaved: boolean): void {
  const place = useContext(PlaceHere)
  useLayoutEffect(() => {
    if (!isUnsaved) return undefined
    const mine = { place }
    unsaved.add(mine)
    address = location.href
    return () => {
      unsaved.delete(mine)
    }
  }, [isUnsaved, place])
}

/** The input was changed, or a secret is shown: if the session ends, the page is kept. */
export function useFilledIn(isFilledIn: boolean): void {
  useLayoutEffect(() => {
    if (!isFilledIn) return undefined
    filledIn += 1
    return () => {
      filledIn -= 1
    }
  }, [isFilledIn])
}

/** Whether the page has input that would be lost. */
export function hasUnsavedInput(): boolean {
  return filledIn > 0
}

/** Only a button closes the dialog, not Escape or a click outside. */
export function useHeld(): void {
  const place = useContext(PlaceHere)
  useLayoutEffect(() => {
    place.isHeld = true
    return () => {
      place.isHeld = false
    }
  }, [place])
}

/** The address of the unsaved input; undefined if there is none. */
export function unsavedAt(): string | undefined {
  return unsaved.size === 0 ? undefined : address
}

/** Runs the action, after a confirmation if it would lose input of this place; without a place, of any. */
export function leave(act: () => unknown, place?: Place): unknown {
  const lost = [...unsaved].filter((each) => place === undefined || each.place === place)
  if (lost.length === 0) return act()
  asked.value = () => {
    for (const each of lost) unsaved.delete(each)
    return act()
  }
  return undefined
}

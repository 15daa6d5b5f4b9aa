import { signal } from '@preact/signals'
import { createContext } from 'preact'
import { useContext, useLayoutEffect } from 'preact/hooks'

/** What is filled in and not sent yet, and what somebody is about to do that would lose it. */

/** Where it stands: a dialog, of which closing it loses only what is in it, or the page. */
export interface Place {
  /** Holds what is shown once: nothing but a button of its own puts it away. */
  isHeld?: boolean
}

export const PlaceHere = createContext<Place>({})

interface Unsaved {
  readonly place: Place
}

const unsaved = new Set<Unsaved>()
/** How much there is that nobody could get back, whether leaving asks about it or not. */
let filledIn = 0
let address = ''

/** Waits for somebody to say that he means it. */
export const asked = signal<(() => unknown) | undefined>(undefined)

/**
 * As long as it is so, whoever leaves is asked first: by a link, by going back, by closing what it stands in. Whoever sees that
 * it was saved is not asked any more: both are of one moment.
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

/** Something was typed or chosen in it, or it is shown this once: should the session end, the page is kept. */
export function useFilledIn(isFilledIn: boolean): void {
  useLayoutEffect(() => {
    if (!isFilledIn) return undefined
    filledIn += 1
    return () => {
      filledIn -= 1
    }
  }, [isFilledIn])
}

/** Whether the page holds what would be lost with it. */
export function holdsWork(): boolean {
  return filledIn > 0
}

/** What it is called in is closed by a button alone, not by Escape or a press beside it. */
export function useHeld(): void {
  const place = useContext(PlaceHere)
  useLayoutEffect(() => {
    place.isHeld = true
    return () => {
      place.isHeld = false
    }
  }, [place])
}

/** The address that it is filled in at; undefined where there is nothing to lose. */
export function unsavedAt(): string | undefined {
  return unsaved.size === 0 ? undefined : address
}

/** Does it, after a question where it would lose something of this place; without one, of any. */
export function leave(act: () => unknown, place?: Place): unknown {
  const lost = [...unsaved].filter((each) => place === undefined || each.place === place)
  if (lost.length === 0) return act()
  asked.value = () => {
    for (const each of lost) unsaved.delete(each)
    return act()
  }
  return undefined
}

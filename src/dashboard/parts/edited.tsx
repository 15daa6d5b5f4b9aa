import { type ComponentChildren, Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { type CallOptions, etagOf } from '#client/client'
import { Button } from '#dashboard/parts/button'
import { Explained } from '#dashboard/parts/problem-text'

/** What a call is told so that it changes nothing but what was read; `*`: nothing that is there. */
type Unchanged = Pick<CallOptions, 'ifMatch' | 'ifNoneMatch'>

/** One round of editing something that others may edit at the same time. */
export interface Edit<Value> {
  /** What the form begins with. */
  readonly begun: Value
  /** Whether it was touched since. */
  readonly isDirty: boolean
  readonly touch: () => void
  /**
   * To be called before anything is sent: reads it again, and throws where it is no more what it was begun with. Whoever
   * edits is told then, and what he sends after that is sent. `of`: what of it would be replaced; all that is filled in,
   * unless said. What it answers goes with what is sent: should somebody be faster still, that is refused.
   */
  readonly check: (read: () => Promise<Value>, of?: (value: Value) => unknown) => Promise<Unchanged>
  /** Was saved: what was sent is what there is now. */
  readonly keep: (saved: Value) => void
}

export interface EditedProps<Value> {
  /** As it was read last. */
  readonly found: Value
  /** Such as `this alarm`. */
  readonly what: string
  /** What of it is filled in; all, unless said. */
  readonly filled?: ((value: Value) => unknown) | undefined
  /** Never filled anew by itself: of a form that does not say when it is touched. */
  readonly isHeld?: boolean | undefined
  readonly children: (edit: Edit<Value>) => ComponentChildren
}

/** What was begun stays when somebody else saves it meanwhile; that is said, and nothing is replaced unseen. */
export function Edited<Value>({ found, what, filled = itself, isHeld = false, children }: EditedProps<Value>) {
  const [begun, setBegun] = useState(found)
  const [latest, setLatest] = useState(found)
  const [before, setBefore] = useState(found)
  const [isDirty, setDirty] = useState(isHeld)
  const [round, setRound] = useState(0)
  if (before !== found) {
    setBefore(found)
    setLatest(found)
  }
  const take = () => {
    setBegun(latest)
    setDirty(isHeld)
    setRound(round + 1)
  }
  const isOther = !isSame(filled(latest), filled(begun))
  if (isOther && !isDirty) take()
  const edit: Edit<Value> = {
    begun,
    isDirty,
    touch: () => setDirty(true),
    check: async (read, of = filled) => {
      const now = await read()
      if (isSame(of(now), of(latest))) return now === undefined ? { ifNoneMatch: '*' } : { ifMatch: etagOf(now) }
      setLatest(now)
      throw new Explained(`Somebody changed ${what} while you did, so nothing was sent: see above`)
    },
    keep: (saved) => {
      setBegun(saved)
      setLatest(saved)
      setDirty(isHeld)
    },
  }
  return (
    <>
      {isOther && isDirty && (
        <div class="notice" role="status">
          <p>Somebody changed {what} while you did. Saving replaces that.</p>
          <Button onPress={take}>Take what is there now</Button>
        </div>
      )}
      <Fragment key={round}>{children(edit)}</Fragment>
    </>
  )
}

/** The fields of `after` that are other than before: of a change, what is to be sent. */
export function changedOf<Fields extends object>(before: Fields, after: Fields): Partial<Fields> {
  const other = Object.entries(after).filter(([name, value]) => !isSame(before[name as keyof Fields], value))
  return Object.fromEntries(other) as Partial<Fields>
}

/** The fields of it that would be replaced by these. */
export function partOf<Value extends object>(value: Value, by: object): unknown {
  return Object.keys(by).map((name) => value[name as keyof Value])
}

function itself<Value>(value: Value): unknown {
  return value
}

/** The server writes the same thing the same way. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

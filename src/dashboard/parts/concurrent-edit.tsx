import { type ComponentChildren, Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { type CallOptions, etagOf } from '#client/client'
import { Button } from '#dashboard/parts/button'
import { ExplainedError } from '#dashboard/parts/problem-text'

/** The precondition of a request: only if the resource is unchanged; `*`: only if it does not exist. */
type Unchanged = Pick<CallOptions, 'ifMatch' | 'ifNoneMatch'>

/** Editing of a value that other users may change at the same time. */
export interface Edit<Value> {
  /** The value at the beginning. */
  readonly begun: Value
  /** Whether the input has changed. */
  readonly isDirty: boolean
  readonly touch: () => void
  /**
   * Call it before sending: reads the value again, and throws if it has changed since the beginning. The user is then
   * informed, and the next attempt is sent. `of`: the part that would be replaced; by default all edited fields. Pass
   * the returned precondition to the request: the server then refuses a simultaneous change.
   */
  readonly check: (read: () => Promise<Value>, of?: (value: Value) => unknown) => Promise<Unchanged>
  /** Call it after saving with the saved value. */
  readonly keep: (saved: Value) => void
}

export interface ConcurrentEditProps<Value> {
  /** The value as last read. */
  readonly found: Value
  /** A name for messages, such as `this alarm`. */
  readonly what: string
  /** The edited part; by default all of it. */
  readonly filled?: ((value: Value) => unknown) | undefined
  /** Never replaces the input by a newer value: for forms that do not report changes. */
  readonly isHeld?: boolean | undefined
  readonly children: (edit: Edit<Value>) => ComponentChildren
}

/** Keeps the input when another user saves the value meanwhile: shows a notice, and replaces nothing silently. */
export function ConcurrentEdit<Value>({
  found,
  what,
  filled = itself,
  isHeld = false,
  children,
}: ConcurrentEditProps<Value>) {
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
      throw new ExplainedError(`Another user changed ${what} meanwhile, so nothing was sent: see above`)
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
          <p>Another user changed {what} meanwhile. Saving replaces that change.</p>
          <Button onPress={take}>Load the current version</Button>
        </div>
      )}
      <Fragment key={round}>{children(edit)}</Fragment>
    </>
  )
}

/** The fields of `after` that differ from `before`: the body of a change. */
export function changedOf<Fields extends object>(before: Fields, after: Fields): Partial<Fields> {
  const other = Object.entries(after).filter(([name, value]) => !isSame(before[name as keyof Fields], value))
  return Object.fromEntries(other) as Partial<Fields>
}

/** The fields of `value` that `by` would replace. */
export function partOf<Value extends object>(value: Value, by: object): unknown {
  return Object.keys(by).map((name) => value[name as keyof Value])
}

function itself<Value>(value: Value): unknown {
  return value
}

/** The server serialises equal values equally. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

import { type ComponentChildren, Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { type CallOptions, etagOf } from '#client/client'
import { Button } from '#dashboard/components/button'
import { ExplainedError } from '#dashboard/components/problem-text'

/** The precondition of a request: the resource is unchanged, or with `*`, it does not exist. */
export type Precondition = Pick<CallOptions, 'ifMatch' | 'ifNoneMatch'>

/** Editing of a value that other users may change at the same time. */
export interface Edit<Value> {
  /** The value from which the input started. */
  readonly initial: Value
  readonly isDirty: boolean
  readonly touch: () => void
  /**
   * Call it before sending. It reads the value again, and throws if another user has changed it. The user then sees a
   * notice, and a second attempt is sent. `part` selects the fields that the request replaces; by default all edited
   * fields. Pass the returned precondition to the request: the server then refuses a simultaneous change.
   */
  readonly check: (read: () => Promise<Value>, part?: (value: Value) => unknown) => Promise<Precondition>
  /** Call it after saving with the saved value. */
  readonly markSaved: (saved: Value) => void
}

export interface ConcurrentEditProps<Value> {
  /** The value as last read. */
  readonly current: Value
  /** A name for messages, such as `this alarm`. */
  readonly subject: string
  /** The edited part of the value; by default the whole value. */
  readonly edited?: ((value: Value) => unknown) | undefined
  /** For forms that do not report changes: their input is never replaced by a newer value. */
  readonly isAlwaysDirty?: boolean | undefined
  readonly children: (edit: Edit<Value>) => ComponentChildren
}

/** Protects input from changes by other users: shows a notice, and replaces no input silently. */
export function ConcurrentEdit<Value>(props: ConcurrentEditProps<Value>) {
  const { current, subject, edited = (value) => value, isAlwaysDirty = false, children } = props
  const [initial, setInitial] = useState(current)
  const [latest, setLatest] = useState(current)
  const [previous, setPrevious] = useState(current)
  const [isDirty, setDirty] = useState(isAlwaysDirty)
  const [version, setVersion] = useState(0)
  if (previous !== current) {
    setPrevious(current)
    setLatest(current)
  }
  const load = () => {
    setInitial(latest)
    setDirty(isAlwaysDirty)
    setVersion(version + 1)
  }
  const isChanged = !isSame(edited(latest), edited(initial))
  if (isChanged && !isDirty) load()
  const edit: Edit<Value> = {
    initial,
    isDirty,
    touch: () => setDirty(true),
    check: async (read, part = edited) => {
      const stored = await read()
      if (isSame(part(stored), part(latest))) {
        return stored === undefined ? { ifNoneMatch: '*' } : { ifMatch: etagOf(stored) }
      }
      setLatest(stored)
      throw new ExplainedError(`Another user changed ${subject} meanwhile, so nothing was sent: see above`)
    },
    markSaved: (saved) => {
      setInitial(saved)
      setLatest(saved)
      setDirty(isAlwaysDirty)
    },
  }
  return (
    <>
      {isChanged && isDirty && (
        <div class="notice" role="status">
          <p>Another user changed {subject} meanwhile. Saving replaces that change.</p>
          <Button onPress={load}>Load the current version</Button>
        </div>
      )}
      <Fragment key={version}>{children(edit)}</Fragment>
    </>
  )
}

/** The fields of `after` that differ from `before`: the body of a change. */
export function changedFields<Fields extends object>(before: Fields, after: Fields): Partial<Fields> {
  const changed = Object.entries(after).filter(([name, value]) => !isSame(before[name as keyof Fields], value))
  return Object.fromEntries(changed) as Partial<Fields>
}

/** The fields of `value` that `change` would replace. */
export function replacedFields<Value extends object>(value: Value, change: object): unknown {
  return Object.keys(change).map((name) => value[name as keyof Value])
}

/** Compares as text, because the server serialises equal values equally. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

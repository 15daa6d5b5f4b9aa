import type { updateMachine } from '#actors/update/machine'

/** A machine that can be drawn. */
type Drawn = Pick<typeof updateMachine, 'config'>

/** A transition of a machine from one state to another by an event, with an optional condition. */
export interface Arrow {
  readonly from: string
  readonly event: string
  readonly guard: string | undefined
  /** Undefined if the state does not change. */
  readonly to: string | undefined
}

interface Transition {
  readonly target?: string
  readonly guard?: string
}

export function arrowsOf({ config }: Drawn): Arrow[] {
  const states = config.states as Readonly<
    Record<string, { on?: Readonly<Record<string, Transition | readonly Transition[]>> }>
  >
  return Object.entries(states).flatMap(([from, { on = {} }]) =>
    Object.entries(on).flatMap(([event, transitions]) =>
      [transitions].flat().map(({ guard, target }) => ({ from, event, guard, to: target })),
    ),
  )
}

/** A mermaid state diagram, without the transitions that do not change the state. */
export function drawingOf(machine: Drawn): string {
  const labels = new Map<string, string[]>()
  for (const { from, event, guard, to } of arrowsOf(machine)) {
    if (to === undefined) continue
    const label = guard === undefined ? event : `${event} (${guard})`
    const line = `${from} --> ${to}`
    labels.set(line, [...(labels.get(line) ?? []), label])
  }
  const lines = [...labels].map(([line, texts]) => `    ${line}: ${texts.join(', ')}`)
  return ['```mermaid', 'stateDiagram-v2', `    [*] --> ${machine.config.initial}`, ...lines, '```'].join('\n')
}

import type { AnyDefinition } from '#runtime/activation'
import type { Registry } from '#runtime/registry'
import { watchState } from '#test/actors/state-watch'

/** One decision in four is watched, because each requires a scan of the actor's whole state. */
const watchedEvery = 4

/**
 * Watches turns from inside the actors, independently of the server's own guard: while one actor's code runs, no other may
 * decide, and no decision changes the state. Call before any actor is active.
 */
export function watchTurns<Event>(registry: Registry<Event>, report: (what: string) => void): void {
  /** The kinds of the actors whose code runs, the outermost first. */
  const running: string[] = []
  const definitions = new Map<string, AnyDefinition<Event>>()
  let decisions = 0
  for (const kind of registry.kinds) definitions.set(kind, watched(registry.definition(kind)))
  const definitionOf = registry.definition.bind(registry)
  registry.definition = (kind) => definitions.get(kind) ?? definitionOf(kind)

  /** Derives a new definition, because all servers of this process share those of actors without options. */
  function watched(definition: AnyDefinition<Event>): AnyDefinition<Event> {
    const { kind } = definition
    const during = <Arguments extends unknown[], Result>(run: (...all: Arguments) => Result) => {
      return (...all: Arguments): Result => {
        running.push(kind)
        try {
          return run.apply(definition, all)
        } finally {
          running.pop()
        }
      }
    }
    const decide: typeof definition.decide = during(definition.decide)
    return Object.assign(Object.create(definition) as AnyDefinition<Event>, {
      decide: (...args: Parameters<typeof decide>) => {
        const [other] = running
        if (other !== undefined) report(`a turn of ${kind} begins during one of ${other}`)
        if (decisions++ % watchedEvery > 0) return decide(...args)
        const [state] = args
        const changed = watchState(state)
        try {
          return decide(...args)
        } finally {
          const place = changed()
          if (place !== undefined) report(`a decision of ${kind} changes its state at ${place}`)
        }
      },
      apply: during(definition.apply),
      ...(definition.change && { change: during(definition.change) }),
    })
  }
}

import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import type { Entry } from '#model/entry'
import type {
  ActorAddress,
  ActorDefinition,
  Decision,
  RecordChange,
  Recorded,
  RecordFormat,
  Turn,
} from '#runtime/actor'
import { packRecord, unpackRecord } from '#store/record-codec'
import { watchState } from '#test/actors/state-watch'

/** The start of this process. */
export const startedAt = 1_000_000
/** The time of the first turn. */
export const now = 2_000_000

let chance = 0

export function turnAt(at = now, tenant = 'default', reminder: number | null = null): Turn {
  return {
    tenant,
    now: at,
    // Each byte differs from the one before, so that two random ids differ.
    random: (byteCount) => Uint8Array.from({ length: byteCount }, () => chance++ & 0xff),
    reminder: () => reminder,
  }
}

/** A turn whose fields throw an error when they are read after `revoke`. */
function revocableTurn(turn: Turn): { turn: Turn; revoke: () => void } {
  const { proxy, revoke } = Proxy.revocable(turn, {})
  return { turn: proxy, revoke }
}

/**
 * An actor without a runtime. It applies each decision at once, runs the effects and keeps the records as bytes. After
 * each turn, it checks that the decision did not change the state. It also checks that effects do not read the `Turn`
 * object, which the system reuses for other turns. For an actor with write-through, it checks that the records
 * restore the same state.
 */
export class ActingActor<State, Command> {
  readonly definition: ActorDefinition<State, Command, Entry>
  readonly address: ActorAddress
  readonly state: State
  readonly records = new Map<string, Uint8Array>()
  offset = 0
  at = now
  /** The due time of the present reminder. */
  reminder: number | null = null
  readonly #show: (state: State) => unknown

  constructor(
    definition: ActorDefinition<State, Command, Entry>,
    { tenant = 'default', id }: { readonly tenant?: string; readonly id: string },
    show: (state: State) => unknown = structuredClone,
  ) {
    this.definition = definition
    this.address = { kind: definition.kind, tenant, id }
    this.#show = show
    this.state = this.woken()
  }

  decide(command: Command): Decision<Entry> {
    const changed = watchState(this.state)
    const { turn, revoke } = revocableTurn(turnAt(this.at, this.address.tenant, this.reminder))
    const decision = this.definition.decide(this.state, command, turn)
    revoke()
    expect(changed(), 'the decision changed the state').toBeUndefined()
    return decision
  }

  act(command: Command): Decision<Entry> {
    const decision = this.decide(command)
    if (decision.type === 'record') this.apply(decision)
    return decision
  }

  /** Does the same as `act`, but throws if nothing is recorded. */
  record(command: Command): Recorded<Entry> {
    const decision = this.act(command)
    if (decision.type !== 'record') throw new Error(`nothing is recorded: ${JSON.stringify(decision)}`)
    return decision
  }

  apply(decision: Recorded<Entry>): void {
    const changes = this.definition.persistence === 'write_through' ? decision.records : decision.changes
    for (const change of changes ?? []) this.definition.change?.(this.state, change)
    for (const event of decision.events) this.definition.apply(this.state, event, ++this.offset)
    for (const change of decision.records ?? []) this.#store(change)
    if (decision.reminder !== undefined) this.reminder = decision.reminder
    // Both states are formatted, because records return bytes as buffers, which do not equal other byte arrays.
    if (this.definition.persistence === 'write_through') {
      const [restored, kept] = [this.#show(this.woken()), this.#show(this.state)]
      // `toEqual` takes a hundred times as long for byte arrays.
      if (!isDeepStrictEqual(restored, kept)) expect(restored).toEqual(kept)
    }
    for (const change of decision.records ?? []) this.definition.recordStored?.(this.address, change)
    for (const effect of decision.effects ?? []) effect()
  }

  /** The state that the records of the actor restore. */
  woken(): State {
    const records = [...this.records].map(([name, bytes]) => [name, unpackRecord(this.#formatOf(name), bytes)] as const)
    return this.definition.wake(this.address, new Map(records))
  }

  #store({ name, value }: RecordChange): void {
    if (value === null) this.records.delete(name)
    else this.records.set(name, packRecord(this.#formatOf(name), value))
  }

  #formatOf(name: string): RecordFormat {
    const { formats } = this.definition
    const format = formats[name] ?? formats[`${name.slice(0, name.indexOf('/') + 1)}*`] ?? formats['*']
    if (!format) throw new Error(`${name} has no format`)
    return format
  }
}

/** The answer of a command, or the error that refused it. */
export function outcomeOf(decision: Decision<Entry>): unknown {
  if (decision.type === 'refuse') return `${decision.problem.code}: ${decision.problem.message}`
  return decision.type === 'record' ? decision.answer : decision.value
}

/** The commands that a turn sent to other actors: `session/t/S1 end`. */
export function sentCommandsOf(decision: Decision<Entry>): string[] {
  if (decision.type !== 'record') return []
  return (decision.tells ?? []).map(
    ({ to, command }) => `${to.kind}/${to.tenant}/${to.id} ${(command as { type: string }).type}`,
  )
}

/** The index changes of a turn: `+updating/A`. */
export function indexChangesOf(decision: Decision<Entry>): string[] {
  if (decision.type !== 'record') return []
  return (decision.indexes ?? []).map(({ index, entry, isPresent }) => `${isPresent ? '+' : '-'}${index}/${entry}`)
}

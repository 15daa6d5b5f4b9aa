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

/** When this process began, and the moment of the first turn. */
export const startedAt = 1_000_000
export const now = 2_000_000

let chance = 0

export function turnAt(at = now, tenant = 'default', reminder: number | null = null): Turn {
  return {
    tenant,
    now: at,
    // Every byte another one: what is drawn twice must differ.
    random: (byteCount) => Uint8Array.from({ length: byteCount }, () => chance++ & 0xff),
    reminder: () => reminder,
  }
}

/**
 * An actor without a runtime: what it decides is applied at once, its effects run, its records are kept as bytes. After
 * each turn it is checked that the decision changed nothing by itself, and, of one that is written through, that it wakes
 * from its records as it stands.
 */
export class ActingActor<State, Command> {
  readonly definition: ActorDefinition<State, Command, Entry>
  readonly address: ActorAddress
  readonly state: State
  readonly records = new Map<string, Uint8Array>()
  offset = 0
  at = now
  /** As last set. */
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
    const decision = this.definition.decide(this.state, command, turnAt(this.at, this.address.tenant, this.reminder))
    expect(changed(), 'where the decision changed the state').toBeUndefined()
    return decision
  }

  act(command: Command): Decision<Entry> {
    const decision = this.decide(command)
    if (decision.type === 'record') this.apply(decision)
    return decision
  }

  /** The same, of which only what is recorded counts. */
  record(command: Command): Recorded<Entry> {
    const decision = this.act(command)
    if (decision.type !== 'record') throw new Error(`nothing is recorded: ${JSON.stringify(decision)}`)
    return decision
  }

  apply(decision: Recorded<Entry>): void {
    for (const change of decision.changes ?? []) this.definition.change?.(this.state, change)
    for (const event of decision.events) this.definition.apply(this.state, event, ++this.offset)
    for (const change of decision.records ?? []) this.#store(change)
    if (decision.reminder !== undefined) this.reminder = decision.reminder
    // Shown both: bytes come out of a record as buffers, which are not equal to other bytes.
    if (this.definition.persistence === 'write_through')
      expect(this.#show(this.woken())).toEqual(this.#show(this.state))
    for (const effect of decision.effects ?? []) effect()
  }

  /** As it comes out of its records. */
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

/** What became of a command: what it was answered with, or why it was refused. */
export function outcomeOf(decision: Decision<Entry>): unknown {
  if (decision.type === 'refuse') return `${decision.problem.code}: ${decision.problem.message}`
  return decision.type === 'record' ? decision.answer : decision.value
}

/** Whom a turn told what: `session/t/S1 end`. */
export function toldOf(decision: Decision<Entry>): string[] {
  if (decision.type !== 'record') return []
  return (decision.tells ?? []).map(
    ({ to, command }) => `${to.kind}/${to.tenant}/${to.id} ${(command as { type: string }).type}`,
  )
}

import { Participant } from '#test/simulation/participant'
import { Register, type Version } from '#test/simulation/register'
import { boostId, degreesId, fanId, heaterService, targetId } from '#test/simulation/simulated-heater'
import { type SimulatedServer, tenant } from '#test/simulation/simulated-server'

/** Names of the heater's properties by propId: the sets give the same name to different properties, or to none. */
const namings = [
  { [degreesId]: 'heat', [targetId]: 'aim', [fanId]: 'fan' },
  { [degreesId]: 'heat', [targetId]: 'fan', [fanId]: 'aim', [boostId]: 'boost' },
  { [targetId]: 'heat' },
  {},
] as const

const parameters = { serviceIdentifier: heaterService }

type Naming = Readonly<Record<number, string>>

/** Changes the names of the heater's properties during the run. */
export class SimulatedSchema extends Participant<undefined> {
  readonly #names = new Register<Naming>({})
  /** Unanswered changes: the offset of each in the stream. */
  readonly #open = new Map<Version<Naming>, number>()

  override moveTo(server: SimulatedServer): void {
    super.moveTo(server)
    this.#open.clear()
  }

  act(): void {
    const names: Naming = namings[this.random.below(namings.length)] ?? {}
    this.watch(this.#put(names))
  }

  /** Reads the final state. For a server at rest. */
  async settle(): Promise<void> {
    this.#names.found(await this.read(), this.witness.moment)
  }

  async read(): Promise<Naming> {
    const { body, refused } = await this.answerTo('readSchema', { parameters })
    if (refused === 'not_found') return {}
    if (refused !== undefined) throw new Error(`reading a schema was refused: ${refused}`)
    const named = Object.entries<{ name: string }>(JSON.parse(body).schema.properties)
    return Object.fromEntries(named.map(([propId, { name }]) => [Number(propId), name]))
  }

  /** A device receives a write that used a property name: the name's meaning must be stored by now. */
  checkMeaning(name: string, propId: number, moment: number): void {
    const meant = this.#names.since(moment).filter(({ value }) => value[propId] === name)
    const { committed } = this.#head
    if (meant.length > 0 && meant.every((version) => (this.#open.get(version) ?? 0) > committed))
      this.witness.report(`a device is asked by the name ${name}, which is not stored yet`)
    else
      this.witness.check(
        () => `a device is asked for ${propId} as ${name}`,
        meant.map((version) => [version]),
      )
  }

  get #head() {
    return this.server.assembly.context.system.registry.head(tenant)
  }

  async #put(names: Naming): Promise<void> {
    const version = this.#names.request(names, this.witness.moment)
    const properties = Object.fromEntries(
      Object.entries(names).map(([propId, name]) => [`0x${Number(propId).toString(16)}`, { name }]),
    )
    const answer = this.answerTo('putSchema', { parameters, body: { name: 'Heater', properties } })
    // The turn has run by now.
    this.#open.set(version, this.#head.taken)
    const { refused } = await answer
    this.#open.delete(version)
    if (refused === undefined) this.#names.stored(version, this.witness.moment)
    else if (refused === 'overloaded') this.#names.refused(version)
    else if (refused !== 'storage') this.witness.report(`putSchema: ${refused}`)
  }
}

import {
  actionAddress,
  actionPageAddress,
  actionRecord,
  pageRecord,
  runningActionIndex,
  type StoredPage,
} from '#actors/action/action'
import type { StoredAction } from '#model/action'
import { formatCrn } from '#model/crn'
import type { Grant } from '#model/scope'
import type { ActorAddress } from '#runtime/actor'
import { IdentityFixture, type IdentityFixtureOptions } from '#test/access/identity-fixture'
import { TestLink } from '#test/link/link-fixture'
import { listedRows } from '#test/workers/listed-rows'

export const updateGrant: Grant = { permissions: { service: ['update'] }, devices: ['*'], services: ['svc'] }

export interface ReceivedWrite {
  readonly device: string
  readonly id: string
  readonly updates: readonly { readonly propId: number; readonly value: unknown }[]
}

/** Returns the answer of a device: a result for each property, or undefined for no answer. */
export type Behaviour = (
  write: ReceivedWrite,
) => readonly { propId: number; status: string; message?: string }[] | undefined

export const accepting: Behaviour = ({ updates }) => updates.map(({ propId }) => ({ propId, status: 'OK' }))
export const silent: Behaviour = () => undefined

interface ActionFields {
  readonly updates?: object
  readonly author?: string
}

/** The fields of WELCOME and WRITE. */
interface Frame extends Omit<ReceivedWrite, 'device'> {
  readonly type: string
  readonly flakeAddress: number
  readonly deviceIdentifier: string
}

/** Devices with the service `svc`: property 1 is a number, 2 a text. They answer in a later task of the world. */
class AnsweringLink extends TestLink {
  readonly devices = new Map<number, string>()
  readonly #soon: (task: () => void) => void
  readonly #behaviour: Behaviour

  constructor(identity: IdentityFixture, behaviour: Behaviour) {
    super(identity.assembly.context.devices.links, { tenant: 'default', protocol: 'json' })
    this.#soon = (task) => identity.world.soon(task)
    this.#behaviour = behaviour
  }

  override send(message: string | Uint8Array): boolean {
    super.send(message)
    const { type, flakeAddress, deviceIdentifier, id, updates } = this.received.at(-1) as unknown as Frame
    if (type === 'WELCOME') this.devices.set(flakeAddress, deviceIdentifier)
    if (type !== 'WRITE') return true
    const results = this.#behaviour({ device: this.devices.get(flakeAddress) as string, id, updates })
    if (results) {
      this.#soon(() => {
        if (this.closedWith === undefined) this.transmit({ type: 'RESULT', flakeAddress, id, results })
      })
    }
    return true
  }
}

/** A server with the user `ann`, whose role has the given grants, and devices that accept writes. */
export class ActionFixture {
  identity: IdentityFixture
  behaviour: Behaviour = accepting
  /** All writes that devices received, over restarts. */
  readonly writes: ReceivedWrite[] = []
  #links: TestLink[] = []

  private constructor(identity: IdentityFixture) {
    this.identity = identity
  }

  static async open(
    grants: readonly Grant[] = [updateGrant],
    options: IdentityFixtureOptions = {},
  ): Promise<ActionFixture> {
    const identity = await IdentityFixture.open(options)
    await identity.putRole('ops', grants)
    await identity.addUser('ann', { roles: ['ops'] })
    return new ActionFixture(identity)
  }

  get ann(): string {
    return formatCrn({ type: 'user', id: this.identity.row('ann').id })
  }

  async link(...devices: string[]): Promise<TestLink> {
    const link = new AnsweringLink(this.identity, (write) => {
      this.writes.push(write)
      return this.behaviour(write)
    })
    this.#links.push(link)
    for (const device of devices) link.hello(device)
    await this.identity.world.settle()
    return link
  }

  /** Begins an action without advancing the world. */
  requestBegin(id: string, devices: readonly string[], more: ActionFields = {}): Promise<void> {
    const { updates = { '1': 5 }, author = this.ann } = more
    return this.identity.assembly.context.devices.actions.begin({
      tenant: 'default',
      id,
      author,
      serviceIdentifier: 'svc',
      updates: updates as Record<string, unknown>,
      devices: [[...devices].sort()],
    })
  }

  /** Begins an action and waits until it is stored. */
  async begin(...action: Parameters<ActionFixture['requestBegin']>): Promise<void> {
    await this.identity.wait(this.requestBegin(...action))
  }

  action(id: string): StoredAction | undefined {
    return this.#record(actionAddress('default', id), actionRecord) as StoredAction | undefined
  }

  /** `<device> <status>`, by name. */
  outcomes(id: string): readonly string[] {
    const lines: string[] = []
    for (let page = 0; ; page++) {
      const stored = this.#record(actionPageAddress('default', id, page), pageRecord) as StoredPage | undefined
      if (!stored) return lines
      for (const [place, device] of stored.devices.entries()) {
        lines.push(`${device} ${stored.outcomes[place]?.status ?? 'PENDING'}`)
      }
    }
  }

  runningActions(): Promise<readonly string[]> {
    return listedRows(this.identity, runningActionIndex)
  }

  /** Kills the process, after `writesKept` of its pending writes reached the disk, and starts another one. */
  async restart(writesKept = 0): Promise<void> {
    this.#links = []
    this.identity = await this.identity.restart({}, writesKept)
  }

  async close(): Promise<void> {
    for (const link of this.#links) link.close()
    await this.identity.close()
  }

  #record(address: ActorAddress, name: string): unknown {
    return this.identity.assembly.context.system.recordOf(address, name)
  }
}

export function namesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `D-${10_000 + index}`)
}

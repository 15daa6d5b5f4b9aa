import { actionRecord, runningActionIndex } from '#actors/action/action'
import { actionAddress, actionPageAddress } from '#actors/action/address'
import { pageRecord, type StoredPage } from '#actors/action/page'
import type { StoredAction } from '#model/action'
import { formatCrn } from '#model/crn'
import type { Grant } from '#model/scope'
import type { ActorAddress } from '#runtime/actor'
import { IdentityFixture, type IdentityFixtureOptions } from '#test/access/identity-fixture'
import { TestLink } from '#test/link/link-fixture'

export const changing: Grant = { permissions: { service: ['update'] }, devices: ['*'], services: ['svc'] }

/** A WRITE as a device hears it. */
export interface HeardWrite {
  readonly device: string
  readonly id: string
  readonly updates: readonly { readonly propId: number; readonly value: unknown }[]
}

/** What a device says to a write: of each property, or nothing at all. */
export type Manner = (write: HeardWrite) => readonly { propId: number; status: string; message?: string }[] | undefined

export const willing: Manner = ({ updates }) => updates.map(({ propId }) => ({ propId, status: 'OK' }))
export const silent: Manner = () => undefined

/** Fields of WELCOME and of WRITE; others have other ones. */
interface Frame extends Omit<HeardWrite, 'device'> {
  readonly type: string
  readonly flakeAddress: number
  readonly deviceIdentifier: string
}

/** A gateway with devices of one service, `svc`: 1 is a number, 2 a text. They answer in the loop's next turn. */
class AnsweringLink extends TestLink {
  readonly devices = new Map<number, string>()
  readonly #soon: (task: () => void) => void
  readonly #heard: (write: HeardWrite) => ReturnType<Manner>

  constructor(stage: IdentityFixture, heard: (write: HeardWrite) => ReturnType<Manner>) {
    super(stage.assembly.context.links, { tenant: 'default', protocol: 'json' })
    this.#soon = (task) => stage.world.soon(task)
    this.#heard = heard
  }

  override send(message: string | Uint8Array): boolean {
    super.send(message)
    const { type, flakeAddress, deviceIdentifier, id, updates } = this.received.at(-1) as unknown as Frame
    if (type === 'WELCOME') this.devices.set(flakeAddress, deviceIdentifier)
    if (type !== 'WRITE') return true
    const results = this.#heard({ device: this.devices.get(flakeAddress) as string, id, updates })
    if (results) {
      this.#soon(() => {
        if (this.closedWith === undefined) this.transmit({ type: 'RESULT', flakeAddress, id, results })
      })
    }
    return true
  }
}

/** A server with `ann`, who may change what her role says, and devices that do what they are asked. */
export class ActionFixture {
  stage: IdentityFixture
  manner: Manner = willing
  /** Every write that any device heard, of all processes. */
  readonly heard: HeardWrite[] = []
  #links: TestLink[] = []

  private constructor(stage: IdentityFixture) {
    this.stage = stage
  }

  static async open(
    grants: readonly Grant[] = [changing],
    options: IdentityFixtureOptions = {},
  ): Promise<ActionFixture> {
    const stage = await IdentityFixture.open(options)
    await stage.putRole('ops', grants)
    await stage.addUser('ann', { roles: ['ops'] })
    return new ActionFixture(stage)
  }

  get ann(): string {
    return formatCrn({ type: 'user', id: this.stage.row('ann').id })
  }

  async link(...devices: string[]): Promise<TestLink> {
    const link = new AnsweringLink(this.stage, (write) => {
      this.heard.push(write)
      return this.manner(write)
    })
    this.#links.push(link)
    for (const device of devices) link.hello(device)
    await this.stage.world.settle()
    return link
  }

  /** Begun, while the world stands still. */
  beginning(id: string, devices: readonly string[], more: { updates?: object; author?: string } = {}): Promise<void> {
    const { updates = { '1': 5 }, author = this.ann } = more
    return this.stage.assembly.context.actions.begin({
      tenant: 'default',
      id,
      author,
      serviceIdentifier: 'svc',
      updates: updates as Record<string, unknown>,
      devices: [[...devices].sort()],
    })
  }

  /** Taken; how far it came by then is open. */
  async begin(...action: Parameters<ActionFixture['beginning']>): Promise<void> {
    await this.stage.wait(this.beginning(...action))
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

  /** Ids of those that go on. */
  async going(): Promise<readonly string[]> {
    const pages = this.stage.assembly.context.listing.entries(runningActionIndex, 'default')
    const ids = await this.stage.wait(pages.next(1_000))
    await pages.close()
    return ids
  }

  /** The process dies, of its writes in flight so many having reached the disk; another one starts. */
  async restart(writesKept = 0): Promise<void> {
    this.#links = []
    this.stage = await this.stage.restart({}, writesKept)
  }

  async close(): Promise<void> {
    for (const link of this.#links) link.close()
    await this.stage.close()
  }

  #record(address: ActorAddress, name: string): unknown {
    return this.stage.assembly.context.system.recordOf(address, name)
  }
}

export function namesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `D-${10_000 + index}`)
}

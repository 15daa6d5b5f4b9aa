import { directoryActor } from '#actors/directory/directory'
import { noticeBus } from '#actors/notice-bus'
import { tenantActor } from '#actors/tenant/tenant'
import { type StoredUpdate, updateAddress } from '#actors/update/state'
import { updateActor } from '#actors/update/update'
import { defaultUpdateOptions, type UpdateOptions } from '#firmware/options'
import { Updater } from '#firmware/updater'
import type { OfferUrl } from '#link/offers'
import type { Entry } from '#model/entry'
import type { FirmwareStatusMessage } from '#model/link-message'
import type { OfferedFirmware, UpdateQuery } from '#model/update-offer'
import type { AnyDefinition } from '#runtime/activation'
import { StoreListing } from '#store/store-listing'
import { LinkFixture, type LinkProtocol, storedDeviceActor, type TestLink } from '#test/link/link-fixture'
import type { ManualWorld } from '#test/runtime/manual-world'
import type { RuntimeFixtureOptions } from '#test/runtime/runtime-fixture'

export const offerTimeoutMs = 10_000

type Answer = OfferedFirmware | Error | undefined

/** Checks with scripted answers, in place of an update server and its queue. */
class ScriptedChecks {
  /** All queries, including unanswered ones. */
  readonly queries: UpdateQuery[] = []
  answer: (query: UpdateQuery) => Answer = () => undefined
  /** Automatic checks are answered synchronously, like those of the embedded server. */
  isEmbedded = true
  /** No query is answered while this is true. */
  isHeld = false
  #held: (() => void)[] = []

  async now(query: UpdateQuery): Promise<OfferedFirmware | undefined> {
    this.queries.push(query)
    if (this.isHeld) await new Promise<void>((resolve) => this.#held.push(resolve))
    return this.#answerTo(query)
  }

  soon(query: UpdateQuery): Promise<OfferedFirmware | undefined> | OfferedFirmware | undefined {
    if (!this.isEmbedded) return this.now(query)
    this.queries.push(query)
    return this.#answerTo(query)
  }

  release(): void {
    this.isHeld = false
    for (const resolve of this.#held.splice(0)) resolve()
  }

  #answerTo(query: UpdateQuery): OfferedFirmware | undefined {
    const answer = this.answer(query)
    if (answer instanceof Error) throw answer
    return answer
  }
}

export function offered(firmware = '2.0.0', more: Partial<OfferedFirmware> = {}): OfferedFirmware {
  const url = `https://images.example/${firmware}`
  return { firmware, index: 0, sha256: 'ab'.repeat(32), size: 5, isPinned: false, url, rollout: null, ...more }
}

/** Updates of devices that are connected by test sockets. */
export class ConnectedUpdates {
  readonly linkFixture: LinkFixture

  constructor(linkFixture: LinkFixture) {
    this.linkFixture = linkFixture
  }

  get world(): ManualWorld {
    return this.linkFixture.world
  }

  settle(): Promise<void> {
    return this.linkFixture.settle()
  }

  /** A device that has sent HELLO on a new connection. */
  async connect(device = 'A', more: Hello = {}, protocol: LinkProtocol = 'json'): Promise<TestDevice> {
    const connected = new TestDevice(this, device, this.linkFixture.connect({ protocol }))
    await connected.hello(more)
    return connected
  }

  stored(device = 'A'): StoredUpdate | undefined {
    return this.linkFixture.runtime.system.recordOf(updateAddress('default', device), 'update') as
      | StoredUpdate
      | undefined
  }
}

export interface UpdateFixtureOptions extends RuntimeFixtureOptions {
  readonly options?: Partial<UpdateOptions>
  readonly offerUrl?: OfferUrl
}

/** The Updater with real connections and actors, a store in memory, and scripted checks. */
export class UpdateFixture extends ConnectedUpdates {
  readonly checks = new ScriptedChecks()
  readonly updater: Updater
  readonly bugs: string[] = []

  constructor({ options, offerUrl, ...rest }: UpdateFixtureOptions = {}) {
    const notices = noticeBus()
    super(
      new LinkFixture({
        ...rest,
        ...(offerUrl && { offerUrl }),
        definitions: (journal) =>
          [
            storedDeviceActor(journal),
            tenantActor(notices),
            directoryActor(notices),
            updateActor({ notices, offerTimeoutMs }),
          ] as unknown as AnyDefinition<Entry>[],
      }),
    )
    const { runtime, links } = this.linkFixture
    this.updater = new Updater({
      system: runtime.system,
      listing: new StoreListing(() => runtime.journal.storage),
      links,
      checks: this.checks,
      options: { ...defaultUpdateOptions, ...options },
      offerTimeoutMs,
      failed: (error) => this.bugs.push(`failed: ${error}`),
      bug: (error, where) => this.bugs.push(`${where}: ${error}`),
    })
    links.firmwareListener = this.updater
    runtime.onReloaded = () => this.updater.reloaded()
    notices.listen(this.updater)
  }

  static async open(options: UpdateFixtureOptions = {}): Promise<UpdateFixture> {
    const fixture = new UpdateFixture(options)
    await fixture.start()
    return fixture
  }

  async start(): Promise<void> {
    await this.linkFixture.runtime.open()
    const opened = this.updater.open()
    await this.settle()
    await opened
  }

  /** Kills the process, and starts another with the same store. */
  async restart(options: UpdateFixtureOptions = {}): Promise<UpdateFixture> {
    const { runtime } = this.linkFixture
    runtime.crash()
    return await UpdateFixture.open({ world: this.world, backend: runtime.backend, ...options })
  }

  trigger(device = 'A', seed = 1, signal = new AbortController().signal): RecordedTrigger {
    return new RecordedTrigger(this.updater, device, seed, signal)
  }

  /** The status of each `update_changed` event. */
  get statuses(): string[] {
    return this.linkFixture.runtime.events.flatMap(({ event }) =>
      event.kind === 'update_changed' ? [event.status] : [],
    )
  }
}

export interface Hello {
  readonly firmware?: string
  readonly session?: string
  readonly project?: string | undefined
  readonly firmwares?: readonly { readonly firmware: string; readonly index: number }[] | undefined
  readonly autoUpdate?: boolean
}

/** A simulated device that receives firmware. */
export class TestDevice {
  readonly #fixture: ConnectedUpdates
  readonly name: string
  link: TestLink

  constructor(fixture: ConnectedUpdates, name: string, link: TestLink) {
    this.#fixture = fixture
    this.name = name
    this.link = link
  }

  /** The defaults are project `boiler` and firmware 1.0.0. */
  async hello({ firmware = '1.0.0', ...more }: Hello = {}): Promise<void> {
    this.link.hello(this.name, { project: 'boiler', firmwares: [{ firmware, index: 0 }], ...more })
    await this.#fixture.settle()
  }

  /** The received FIRMWARE messages. */
  get offers(): readonly Record<string, unknown>[] {
    return this.link.received.filter(
      ({ type, flakeAddress }) => type === 'FIRMWARE' && flakeAddress === this.link.address,
    )
  }

  /** Sends the status of the last offer. */
  async report(status: FirmwareStatusMessage['status'], more: Partial<FirmwareStatusMessage> = {}): Promise<void> {
    const id = this.offers.at(-1)?.id
    this.link.transmit({ type: 'FIRMWARE_STATUS', flakeAddress: this.link.address, id, status, ...more })
    await this.#fixture.settle()
  }

  /** Installs the offered firmware, and reconnects with it. */
  async install(firmware = String(this.offers.at(-1)?.firmware)): Promise<void> {
    for (const status of ['STARTED', 'DOWNLOADING', 'INSTALLING', 'INSTALLED'] as const) await this.report(status)
    this.link.close()
    this.link = this.#fixture.linkFixture.connect()
    await this.hello({ firmware, session: 'boot-2' })
  }
}

/** A trigger by hand; its outcome is the status of the answer with its message, if any, or the code of a refusal. */
export class RecordedTrigger {
  outcome: string | undefined

  constructor(updater: Updater, device: string, seed: number, signal: AbortSignal) {
    updater.trigger({ tenant: 'default', device, seed: new Uint8Array(16).fill(seed), signal }).then(
      ({ status, message }) => {
        this.outcome = message === undefined ? status : `${status} ${message}`
      },
      (problem: { code?: string }) => {
        this.outcome = problem.code ?? String(problem)
      },
    )
  }
}

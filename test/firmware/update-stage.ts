import { deviceActor } from '#actors/device/device'
import { noDeviceFunctions } from '#actors/device/turn-runs'
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
import { noRuleViews } from '#test/actors/no-rule-views'
import { LinkFixture, type LinkProtocol, type TestLink } from '#test/link/link-fixture'
import { ManualWorld, startMs } from '#test/runtime/manual-world'
import type { RuntimeFixtureOptions } from '#test/runtime/runtime-fixture'

export const offerTimeoutMs = 10_000

type Answer = OfferedFirmware | Error | undefined

/** An update server that says what a test says, and in front of it nothing. */
class ToldChecks {
  /** Of each question, also those that were not answered. */
  readonly asked: UpdateQuery[] = []
  answer: (question: UpdateQuery) => Answer = () => undefined
  /** Answers at once, as the embedded one does by itself. */
  isEmbedded = true
  /** While it is true nothing is answered. */
  isHeld = false
  #held: (() => void)[] = []

  async now(question: UpdateQuery): Promise<OfferedFirmware | undefined> {
    this.asked.push(question)
    if (this.isHeld) await new Promise<void>((resolve) => this.#held.push(resolve))
    return this.#answerTo(question)
  }

  soon(question: UpdateQuery): Promise<OfferedFirmware | undefined> | OfferedFirmware | undefined {
    if (!this.isEmbedded) return this.now(question)
    this.asked.push(question)
    return this.#answerTo(question)
  }

  release(): void {
    this.isHeld = false
    for (const resolve of this.#held.splice(0)) resolve()
  }

  #answerTo(question: UpdateQuery): OfferedFirmware | undefined {
    const answer = this.answer(question)
    if (answer instanceof Error) throw answer
    return answer
  }
}

export function offered(firmware = '2.0.0', more: Partial<OfferedFirmware> = {}): OfferedFirmware {
  const url = `https://images.example/${firmware}`
  return { firmware, index: 0, sha256: 'ab'.repeat(32), size: 5, isPinned: false, url, rollout: null, ...more }
}

export interface UpdateStageOptions extends RuntimeFixtureOptions {
  readonly options?: Partial<UpdateOptions>
  readonly offerUrl?: OfferUrl
}

/** The Updater between real links and real actors, on a store in memory. */
export class UpdateStage {
  readonly room: LinkFixture
  readonly checks = new ToldChecks()
  readonly updater: Updater
  readonly bugs: string[] = []

  constructor({ options, offerUrl, ...rest }: UpdateStageOptions = {}) {
    const world = rest.world ?? new ManualWorld()
    const notices = noticeBus()
    this.room = new LinkFixture({
      ...rest,
      world,
      ...(offerUrl && { offerUrl }),
      definitions: (journal) =>
        [
          deviceActor({
            shapeById: (id) => journal.shapes.byId(id),
            startedAt: startMs,
            rules: noRuleViews,
            functions: noDeviceFunctions,
          }),
          tenantActor(notices),
          directoryActor(notices),
          updateActor({ notices, offerTimeoutMs }),
        ] as unknown as AnyDefinition<Entry>[],
    })
    const { stage, links } = this.room
    this.updater = new Updater({
      system: stage.system,
      listing: new StoreListing(() => stage.journal.storage),
      links,
      checks: this.checks,
      options: { ...defaultUpdateOptions, ...options },
      offerTimeoutMs,
      failed: (error) => this.bugs.push(`failed: ${error}`),
      bug: (error, where) => this.bugs.push(`${where}: ${error}`),
    })
    links.setFirmwareListener(this.updater)
    stage.onReloaded = () => this.updater.reloaded()
    notices.listen(this.updater)
  }

  static async open(options: UpdateStageOptions = {}): Promise<UpdateStage> {
    const stage = new UpdateStage(options)
    await stage.room.stage.open()
    const opened = stage.updater.open()
    await stage.settle()
    await opened
    return stage
  }

  get world(): ManualWorld {
    return this.room.world
  }

  settle(): Promise<void> {
    return this.room.settle()
  }

  /** The process dies, and another one comes on the same place. */
  async reborn(options: UpdateStageOptions = {}): Promise<UpdateStage> {
    this.room.stage.crash()
    return await UpdateStage.open({ world: this.world, place: this.room.stage.place, ...options })
  }

  /** A device on a link of its own, unless it is given one. */
  async linked(device = 'A', more: Hello = {}, protocol: LinkProtocol = 'json'): Promise<TestDevice> {
    const linked = new TestDevice(this, device, this.room.connect({ protocol }))
    await linked.hello(more)
    return linked
  }

  /** A trigger under way. */
  trigger(device = 'A', seed = 1, signal = new AbortController().signal): Triggered {
    return new Triggered(this.updater, device, seed, signal)
  }

  stored(device = 'A'): StoredUpdate | undefined {
    return this.room.stage.system.recordOf(updateAddress('default', device), 'update') as StoredUpdate | undefined
  }

  /** `status` of each event about updates, with what it says of it. */
  get told(): string[] {
    return this.room.stage.events.flatMap(({ event }) => (event.kind === 'update_changed' ? [event.status] : []))
  }
}

export interface Hello {
  readonly firmware?: string
  readonly session?: string
  readonly project?: string | undefined
  readonly firmwares?: readonly { readonly firmware: string; readonly index: number }[] | undefined
  readonly autoUpdate?: boolean
}

/** A device's end of its link, as far as firmware is concerned. */
export class TestDevice {
  readonly #stage: Pick<UpdateStage, 'room' | 'settle'>
  readonly name: string
  link: TestLink

  constructor(stage: Pick<UpdateStage, 'room' | 'settle'>, name: string, link: TestLink) {
    this.#stage = stage
    this.name = name
    this.link = link
  }

  /** Its project is `boiler`, its firmware 1.0.0, unless it says otherwise. */
  async hello({ firmware = '1.0.0', ...more }: Hello = {}): Promise<void> {
    this.link.hello(this.name, { project: 'boiler', firmwares: [{ firmware, index: 0 }], ...more })
    await this.#stage.settle()
  }

  /** Whatever it was offered, as it heard it. */
  get offers(): readonly Record<string, unknown>[] {
    return this.link.received.filter(
      ({ type, flakeAddress }) => type === 'FIRMWARE' && flakeAddress === this.link.address,
    )
  }

  async say(status: FirmwareStatusMessage['status'], more: Partial<FirmwareStatusMessage> = {}): Promise<void> {
    const id = this.offers.at(-1)?.id
    this.link.transmit({ type: 'FIRMWARE_STATUS', flakeAddress: this.link.address, id, status, ...more })
    await this.#stage.settle()
  }

  /** It installs what it was offered, and comes back with it. */
  async install(firmware = String(this.offers.at(-1)?.firmware)): Promise<void> {
    for (const status of ['STARTED', 'DOWNLOADING', 'INSTALLING', 'INSTALLED'] as const) await this.say(status)
    this.link.close()
    this.link = this.#stage.room.connect()
    await this.hello({ firmware, session: 'boot-2' })
  }
}

/** What became of asking for an update: `STARTED`, `STARTED already running`, or the code of a refusal. */
export class Triggered {
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

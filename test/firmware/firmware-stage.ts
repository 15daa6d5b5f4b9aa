import { deviceActor } from '#actors/device/device'
import { noDeviceFunctions } from '#actors/device/turn-runs'
import { directoryActor } from '#actors/directory/directory'
import { noticeBus } from '#actors/notice-bus'
import type { ProjectCommand } from '#actors/project/commands'
import { projectActor } from '#actors/project/project'
import { type ProjectState, projectAddress } from '#actors/project/state'
import { tenantActor } from '#actors/tenant/tenant'
import { type StoredUpdate, updateAddress } from '#actors/update/state'
import { updateActor } from '#actors/update/update'
import { updateScheduleActor } from '#actors/update-schedule/schedule'
import { FirmwareUpdates } from '#firmware/firmware-updates'
import type { UpdateOptions } from '#firmware/options'
import type { Entry } from '#model/entry'
import { everything } from '#model/scope'
import type { AnyDefinition } from '#runtime/activation'
import { StoreListing } from '#store/store-listing'
import { releaseOf } from '#test/actors/acting-project'
import { noRuleViews } from '#test/actors/no-rule-views'
import { type Hello, offerTimeoutMs, TestDevice, Triggered } from '#test/firmware/update-stage'
import { LinkFixture } from '#test/link/link-fixture'
import { ManualWorld, startMs } from '#test/runtime/manual-world'
import { during, type RuntimeFixtureOptions } from '#test/runtime/runtime-fixture'
import { memoryBlobs } from '#test/store/memory-blobs'

export interface FirmwareStageOptions extends RuntimeFixtureOptions {
  readonly options?: Partial<UpdateOptions>
}

/** All that brings firmware to devices, with the embedded update server, between real links and a store in memory. */
export class FirmwareStage {
  readonly room: LinkFixture
  readonly updates: FirmwareUpdates
  readonly complaints: string[] = []
  readonly #options: Partial<UpdateOptions>

  private constructor({ options = {}, ...rest }: FirmwareStageOptions) {
    const world = rest.world ?? new ManualWorld()
    const notices = noticeBus()
    this.#options = options
    this.room = new LinkFixture({
      ...rest,
      world,
      offerUrl: (_, device, { url, sha256 }) => url ?? `http://here/${sha256}?device=${device}`,
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
          updateScheduleActor,
          projectActor(notices),
        ] as unknown as AnyDefinition<Entry>[],
    })
    const { stage, links, presence } = this.room
    const { system } = stage
    const complain = (fields: object, message: string) => this.complaints.push(`${message} ${JSON.stringify(fields)}`)
    this.updates = new FirmwareUpdates({
      system,
      notices,
      listing: new StoreListing(() => stage.journal.storage),
      links,
      // Every release is made without sending its image.
      images: Object.assign(memoryBlobs({ bytesMax: 1_000 }), { sizeOf: async () => releaseOf('1.0.0').size }),
      server: undefined,
      options,
      offerTimeoutMs,
      scopeOf: () => everything,
      log: { warn: complain, error: complain },
    })
    stage.onReloaded = () => {
      presence.open()
      this.updates.reloaded()
    }
  }

  static async open(options: FirmwareStageOptions = {}): Promise<FirmwareStage> {
    const made = new FirmwareStage(options)
    await made.room.stage.open()
    made.room.presence.open()
    await during(made.world, made.updates.open())
    await made.settle()
    return made
  }

  get world(): ManualWorld {
    return this.room.world
  }

  settle(): Promise<void> {
    return this.room.settle()
  }

  /** The process dies, of its writes in flight so many having reached the disk; another one comes, perhaps later. */
  async reborn({ writesKept = 0, afterMs = 0 } = {}): Promise<FirmwareStage> {
    this.room.stage.crash(writesKept)
    this.world.spend(afterMs)
    return FirmwareStage.open({ world: this.world, place: this.room.stage.place, options: this.#options })
  }

  async linked(device: string, more: Hello = {}): Promise<TestDevice> {
    const linked = new TestDevice(this, device, this.room.connect())
    await linked.hello(more)
    return linked
  }

  /** Asks the project, and answers the code of its refusal. */
  async ask(command: ProjectCommand): Promise<string | undefined> {
    const asked = this.room.stage.system.ask(projectAddress('default', 'boiler'), command).then(
      () => undefined,
      (problem: { code: string }) => problem.code,
    )
    const code = await during(this.world, asked)
    await this.settle()
    return code
  }

  get project(): ProjectState {
    return this.room.stage.system.peek(projectAddress('default', 'boiler')) as ProjectState
  }

  stored(device: string): StoredUpdate | undefined {
    return this.room.stage.system.recordOf(updateAddress('default', device), 'update') as StoredUpdate | undefined
  }

  trigger(device: string): Triggered {
    return new Triggered(this.updates.updater, device, 1, new AbortController().signal)
  }

  async forget(device: string): Promise<void> {
    await during(
      this.world,
      this.room.stage.system.ask({ kind: 'device', tenant: 'default', id: device }, { type: 'remove' }),
    )
    await this.settle()
  }
}

import { directoryActor } from '#actors/directory/directory'
import { noticeBus } from '#actors/notice-bus'
import type { ProjectCommand } from '#actors/project/commands'
import { projectActor } from '#actors/project/project'
import { type ProjectState, projectAddress } from '#actors/project/state'
import { tenantActor } from '#actors/tenant/tenant'
import { updateActor } from '#actors/update/update'
import { updateScheduleActor } from '#actors/update-schedule/schedule'
import { FirmwareUpdates } from '#firmware/firmware-updates'
import type { UpdateOptions } from '#firmware/options'
import type { Entry } from '#model/entry'
import { everything } from '#model/scope'
import type { AnyDefinition } from '#runtime/activation'
import { StoreListing } from '#store/store-listing'
import { releaseOf } from '#test/actors/acting-project'
import { ConnectedUpdates, offerTimeoutMs, RecordedTrigger } from '#test/firmware/update-fixture'
import { LinkFixture, storedDeviceActor } from '#test/link/link-fixture'
import { during, type RuntimeFixtureOptions } from '#test/runtime/runtime-fixture'
import { memoryBlobs } from '#test/store/memory-blobs'

export interface FirmwareUpdatesFixtureOptions extends RuntimeFixtureOptions {
  readonly options?: Partial<UpdateOptions>
}

/** The firmware module with the embedded update server, real connections, and a store in memory. */
export class FirmwareUpdatesFixture extends ConnectedUpdates {
  readonly updates: FirmwareUpdates
  /** Log lines of the levels warn and error. */
  readonly warnings: string[] = []
  readonly #options: Partial<UpdateOptions>

  private constructor({ options = {}, ...rest }: FirmwareUpdatesFixtureOptions) {
    const notices = noticeBus()
    super(
      new LinkFixture({
        ...rest,
        offerUrl: (_, device, { url, sha256 }) => url ?? `http://here/${sha256}?device=${device}`,
        definitions: (journal) =>
          [
            storedDeviceActor(journal),
            tenantActor(notices),
            directoryActor(notices),
            updateActor({ notices, offerTimeoutMs }),
            updateScheduleActor,
            projectActor(notices),
          ] as unknown as AnyDefinition<Entry>[],
      }),
    )
    this.#options = options
    const { runtime, links, presence } = this.linkFixture
    const warn = (fields: object, message: string) => this.warnings.push(`${message} ${JSON.stringify(fields)}`)
    this.updates = new FirmwareUpdates({
      system: runtime.system,
      notices,
      listing: new StoreListing(() => runtime.journal.storage),
      links,
      // Releases are created without an upload of their image.
      images: Object.assign(memoryBlobs({ bytesMax: 1_000 }), { sizeOf: async () => releaseOf('1.0.0').size }),
      server: undefined,
      options,
      offerTimeoutMs,
      scopeOf: () => everything,
      log: { warn, error: warn },
    })
    runtime.onReloaded = () => {
      presence.open()
      this.updates.reloaded()
    }
  }

  static async open(options: FirmwareUpdatesFixtureOptions = {}): Promise<FirmwareUpdatesFixture> {
    const fixture = new FirmwareUpdatesFixture(options)
    const { runtime, presence } = fixture.linkFixture
    await runtime.open()
    presence.open()
    await during(fixture.world, fixture.updates.open())
    await fixture.settle()
    return fixture
  }

  /** Kills the process, and starts another with the same store. */
  async restart(): Promise<FirmwareUpdatesFixture> {
    const { runtime } = this.linkFixture
    runtime.crash()
    return FirmwareUpdatesFixture.open({ world: this.world, backend: runtime.backend, options: this.#options })
  }

  /** Sends a command to the project; returns the code of a refusal. */
  async ask(command: ProjectCommand): Promise<string | undefined> {
    const asked = this.linkFixture.runtime.system.ask(projectAddress('default', 'boiler'), command).then(
      () => undefined,
      (problem: { code: string }) => problem.code,
    )
    const code = await during(this.world, asked)
    await this.settle()
    return code
  }

  get project(): ProjectState {
    return this.linkFixture.runtime.system.peek(projectAddress('default', 'boiler')) as ProjectState
  }

  trigger(device: string): RecordedTrigger {
    return new RecordedTrigger(this.updates.updater, device, 1, new AbortController().signal)
  }

  async removeDevice(device: string): Promise<void> {
    const address = { kind: 'device', tenant: 'default', id: device } as const
    await during(this.world, this.linkFixture.runtime.system.ask(address, { type: 'remove' }))
    await this.settle()
  }
}

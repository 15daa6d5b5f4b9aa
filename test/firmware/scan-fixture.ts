import type { Hello } from '#actors/device/commands'
import { deviceAddress } from '#actors/device/device'
import { directoryActor } from '#actors/directory/directory'
import { noticeBus } from '#actors/notice-bus'
import { projectActor } from '#actors/project/project'
import { type ProjectCommand, type ProjectState, projectAddress, type ScanRequest } from '#actors/project/state'
import { tenantActor } from '#actors/tenant/tenant'
import { updateActor } from '#actors/update/update'
import { ProjectScans } from '#firmware/project-scans'
import { RolloutWindows } from '#firmware/rollout-windows'
import type { Entry } from '#model/entry'
import type { RolloutBody } from '#model/rollout'
import { everything, type Scope } from '#model/scope'
import type { AnyDefinition } from '#runtime/activation'
import { forgetAfterMs } from '#runtime/system'
import { StoreListing } from '#store/store-listing'
import { hello } from '#test/actors/acting-device'
import { ada } from '#test/actors/acting-project'
import { RecordingNotices } from '#test/actors/recording-notices'
import { storedDeviceActor } from '#test/link/link-fixture'
import { ManualWorld } from '#test/runtime/manual-world'
import { during, type Faults, faultyStorage, RuntimeFixture } from '#test/runtime/runtime-fixture'

/** State that survives a restart: the store, and the devices for which the updater was called, before and after it. */
interface SharedState {
  readonly world: ManualWorld
  readonly backend: ReturnType<typeof faultyStorage>['backend']
  readonly faults: Faults
  readonly considered: string[]
}

/** Devices, projects and their scans on a store in memory. The updater is replaced: it only records the devices. */
export class ScanFixture {
  readonly runtime: RuntimeFixture
  readonly scans: ProjectScans
  readonly windows: RolloutWindows
  readonly failures: unknown[] = []
  /** `<device> <trigger>` in order, of all processes. */
  readonly considered: string[]
  /** Called for each considered device; may delay or fail. */
  onConsider: (device: string) => void | Promise<void> = () => {}
  scopeOf: (author: string) => Scope = () => everything
  readonly #shared: SharedState

  private constructor(shared: SharedState) {
    this.#shared = shared
    this.considered = shared.considered
    const { world, backend } = shared
    const notices = new RecordingNotices()
    const projects = {
      releasesChanged: () => {},
      scanRequested: (tenant: string, project: string) => this.scans.scanRequested(tenant, project),
      rolloutChanged: (tenant: string, project: string) => this.windows.rolloutChanged(tenant, project),
    }
    this.runtime = new RuntimeFixture({
      world,
      backend,
      definitions: (journal) =>
        [
          storedDeviceActor(journal, world.now()),
          projectActor(projects),
          updateActor({ notices: noticeBus(), offerTimeoutMs: 10_000 }),
          tenantActor(noticeBus()),
          directoryActor(notices),
        ] as unknown as AnyDefinition<Entry>[],
    })
    const { system, journal } = this.runtime
    const parts = {
      system,
      listing: new StoreListing(() => journal.storage),
      failed: (error: unknown) => this.failures.push(error),
    }
    const consider = async (tenant: string, device: string, by: string) => {
      this.considered.push(`${tenant === 'default' ? '' : `${tenant}/`}${device} ${by}`)
      await this.onConsider(device)
    }
    this.scans = new ProjectScans({ ...parts, updater: { consider }, scopeOf: (_, author) => this.scopeOf(author) })
    this.windows = new RolloutWindows(parts)
  }

  static async open(shared?: SharedState): Promise<ScanFixture> {
    const world = shared?.world ?? new ManualWorld()
    const made = new ScanFixture(shared ?? { world, ...faultyStorage(world), considered: [] })
    await made.runtime.open()
    if (!shared) await made.resume()
    return made
  }

  get world(): ManualWorld {
    return this.runtime.world
  }

  get faults(): Faults {
    return this.#shared.faults
  }

  project(project = 'boiler'): ProjectState {
    return this.runtime.system.peek(projectAddress('default', project)) as ProjectState
  }

  isAwake(device: string): boolean {
    return this.runtime.system.registry.awake(deviceAddress('default', device)) !== undefined
  }

  /** Sends a command, and waits until it is stored. Its consequences may continue. */
  ask(command: ProjectCommand, project = 'boiler'): Promise<unknown> {
    return during(this.world, this.asking(command, project))
  }

  /** Sends a command; the caller must run the world. */
  asking(command: ProjectCommand, project = 'boiler'): Promise<unknown> {
    return this.runtime.system.ask(projectAddress('default', project), command)
  }

  async scan(more: Partial<ScanRequest> = {}, project?: string): Promise<void> {
    await this.ask({ type: 'scan', request: { by: 'hook', devices: null, author: null, ...more } }, project)
    await this.world.settle()
  }

  async putRollout(more: Partial<RolloutBody> = {}, id = 'r1'): Promise<void> {
    await this.ask({ type: 'put_rollout', body: { firmware: '2.0.0', percent: 100, ...more }, id, author: ada })
    await this.world.settle()
  }

  /** Adds devices that have sent HELLO once. */
  async addDevices(devices: readonly string[], more: Partial<Hello> = {}): Promise<void> {
    const { system } = this.runtime
    const greeting = hello([], { project: 'boiler', firmwares: [{ firmware: '1.0.0', index: 0 }], ...more })
    const asked = devices.flatMap((device, index) => [
      system.ask(deviceAddress('default', device), { type: 'add', flakeAddress: index + 1, meta: {} }, 0),
      system.ask(deviceAddress('default', device), greeting, 0),
    ])
    await during(this.world, Promise.all(asked))
  }

  /** Waits until none of these devices is awake. */
  async sleep(devices: readonly string[]): Promise<void> {
    this.world.spend(forgetAfterMs + 1)
    for (let rounds = 0; rounds < 400 && devices.some((device) => this.isAwake(device)); rounds++) {
      await this.world.advance(250)
    }
    if (devices.some((device) => this.isAwake(device))) throw new Error('some devices stay awake')
  }

  /** Kills the process when `writesKept` of the writes in flight have reached the disk, and starts another. */
  async restart(writesKept = 0): Promise<ScanFixture> {
    this.runtime.crash(writesKept)
    const next = await ScanFixture.open(this.#shared)
    await next.resume()
    return next
  }

  async resume(): Promise<void> {
    await during(this.world, Promise.all([this.scans.open(), this.windows.open()]))
  }

  async close(): Promise<void> {
    this.scans.stop()
    this.windows.stop()
    await this.runtime.close()
  }
}

export function namesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `D-${10_000 + index}`)
}

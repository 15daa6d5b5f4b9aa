import type { Hello } from '#actors/device/commands'
import { deviceActor, deviceAddress } from '#actors/device/device'
import { noDeviceFunctions } from '#actors/device/turn-runs'
import { directoryActor } from '#actors/directory/directory'
import { noticeBus } from '#actors/notice-bus'
import type { ProjectCommand, ScanRequest } from '#actors/project/commands'
import { projectActor } from '#actors/project/project'
import { type ProjectState, projectAddress } from '#actors/project/state'
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
import { hello } from '#test/actors/acting'
import { ada } from '#test/actors/acting-project'
import { noRuleViews } from '#test/actors/no-rule-views'
import { RecordingNotices } from '#test/actors/recording-notices'
import { ManualWorld } from '#test/runtime/manual-world'
import { during, type Faults, faultyPlace, RuntimeFixture } from '#test/runtime/runtime-fixture'

/** What every process of a stage has: its store, and what was considered in all of them. */
interface Kept {
  readonly world: ManualWorld
  readonly place: ReturnType<typeof faultyPlace>['place']
  readonly faults: Faults
  readonly considered: string[]
}

/** Devices and projects on a store in memory, with who goes through them; updates are only noted. */
export class WalkStage {
  readonly stage: RuntimeFixture
  readonly walks: ProjectScans
  readonly windows: RolloutWindows
  readonly failures: unknown[] = []
  /** `<device> <by>`, in order, of all processes. */
  readonly considered: string[]
  /** What considering a device comes to. */
  considering: (device: string) => void | Promise<void> = () => {}
  scopeOf: (author: string) => Scope = () => everything
  readonly #kept: Kept

  private constructor(kept: Kept) {
    this.#kept = kept
    this.considered = kept.considered
    const { world, place } = kept
    const notices = new RecordingNotices()
    const projects = {
      releasesChanged: () => {},
      scanRequested: (tenant: string, project: string) => this.walks.scanRequested(tenant, project),
      rolloutChanged: (tenant: string, project: string) => this.windows.rolloutChanged(tenant, project),
    }
    this.stage = new RuntimeFixture({
      world,
      place,
      definitions: (journal) =>
        [
          deviceActor({
            shapeById: (id) => journal.shapes.byId(id),
            startedAt: world.now(),
            rules: noRuleViews,
            functions: noDeviceFunctions,
          }),
          projectActor(projects),
          updateActor({ notices: noticeBus(), offerTimeoutMs: 10_000 }),
          tenantActor(noticeBus()),
          directoryActor(notices),
        ] as unknown as AnyDefinition<Entry>[],
    })
    const { system, journal } = this.stage
    const parts = {
      system,
      listing: new StoreListing(() => journal.storage),
      failed: (error: unknown) => this.failures.push(error),
    }
    const consider = async (tenant: string, device: string, by: string) => {
      this.considered.push(`${tenant === 'default' ? '' : `${tenant}/`}${device} ${by}`)
      await this.considering(device)
    }
    this.walks = new ProjectScans({ ...parts, updater: { consider }, scopeOf: (_, author) => this.scopeOf(author) })
    this.windows = new RolloutWindows(parts)
  }

  static async open(kept?: Kept): Promise<WalkStage> {
    const world = kept?.world ?? new ManualWorld()
    const made = new WalkStage(kept ?? { world, ...faultyPlace(world), considered: [] })
    await made.stage.open()
    if (!kept) await made.resume()
    return made
  }

  get world(): ManualWorld {
    return this.stage.world
  }

  get faults(): Faults {
    return this.#kept.faults
  }

  project(project = 'boiler'): ProjectState {
    return this.stage.system.peek(projectAddress('default', project)) as ProjectState
  }

  isAwake(device: string): boolean {
    return this.stage.system.registry.awake(deviceAddress('default', device)) !== undefined
  }

  /** What is asked, once it is stored; what that leads to may go on. */
  ask(command: ProjectCommand, project = 'boiler'): Promise<unknown> {
    return during(this.world, this.asking(command, project))
  }

  /** Begun, while the world stands still. */
  asking(command: ProjectCommand, project = 'boiler'): Promise<unknown> {
    return this.stage.system.ask(projectAddress('default', project), command)
  }

  walk(more: Partial<ScanRequest> = {}, project?: string): Promise<unknown> {
    return this.ask({ type: 'scan', request: { by: 'hook', devices: null, author: null, ...more } }, project)
  }

  putRollout(more: Partial<RolloutBody> = {}, id = 'r1'): Promise<unknown> {
    return this.ask({ type: 'put_rollout', body: { firmware: '2.0.0', percent: 100, ...more }, id, author: ada })
  }

  /** Devices that said HELLO once. */
  async bring(devices: readonly string[], more: Partial<Hello> = {}): Promise<void> {
    const { system } = this.stage
    const said = hello([], { project: 'boiler', firmwares: [{ firmware: '1.0.0', index: 0 }], ...more })
    const asked = devices.flatMap((device, index) => [
      system.ask(deviceAddress('default', device), { type: 'add', flakeAddress: index + 1, meta: {} }, 0),
      system.ask(deviceAddress('default', device), said, 0),
    ])
    await during(this.world, Promise.all(asked))
  }

  /** No device is awake any more. */
  async sleep(devices: readonly string[]): Promise<void> {
    this.world.spend(forgetAfterMs + 1)
    for (let rounds = 0; rounds < 400 && devices.some((device) => this.isAwake(device)); rounds++) {
      await this.world.advance(250)
    }
    if (devices.some((device) => this.isAwake(device))) throw new Error('they do not sleep')
  }

  /** The process dies, of its writes in flight so many having reached the disk; another one starts and goes on. */
  async restart(writesKept = 0): Promise<WalkStage> {
    this.stage.crash(writesKept)
    const next = await WalkStage.open(this.#kept)
    await next.resume()
    return next
  }

  async resume(): Promise<void> {
    await during(this.world, Promise.all([this.walks.open(), this.windows.open()]))
  }

  async close(): Promise<void> {
    this.walks.stop()
    this.windows.stop()
    await this.stage.close()
  }
}

export function namesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `D-${10_000 + index}`)
}

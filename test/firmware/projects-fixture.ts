import { directoryActor } from '#actors/directory/directory'
import { noticeBus, type ProjectNotices } from '#actors/notice-bus'
import { projectActor } from '#actors/project/project'
import { type ProjectCommand, projectAddress } from '#actors/project/state'
import { tenantAddress } from '#actors/tenant/commands'
import { tenantActor } from '#actors/tenant/tenant'
import { EmbeddedUpdateServer } from '#firmware/embedded-update-server'
import type { Entry } from '#model/entry'
import { everything, type Scope } from '#model/scope'
import type { AnyDefinition } from '#runtime/activation'
import { ada, RecordingProjects } from '#test/actors/acting-project'
import { RecordingNotices } from '#test/actors/recording-notices'
import { during, RuntimeFixture, type RuntimeFixtureOptions } from '#test/runtime/runtime-fixture'

export interface ProjectsFixtureOptions extends Omit<RuntimeFixtureOptions, 'definitions'> {
  readonly notices?: ProjectNotices
}

/** Tenant `default` with projects on a store in memory, and the embedded update server. */
export class ProjectsFixture extends RuntimeFixture {
  readonly server: EmbeddedUpdateServer
  /** The permissions of the authors of rollouts. */
  scopeOf: (author: string) => Scope = () => everything

  constructor(options: ProjectsFixtureOptions = {}) {
    const notices = new RecordingNotices()
    super({
      ...options,
      definitions: () =>
        [
          projectActor(options.notices ?? new RecordingProjects()),
          tenantActor(noticeBus()),
          directoryActor(notices),
        ] as unknown as AnyDefinition<Entry>[],
    })
    this.server = new EmbeddedUpdateServer({
      system: this.system,
      now: () => this.world.now(),
      scopeOf: (_, author) => this.scopeOf(author),
    })
  }

  /** Sends commands to project `boiler`; none may be refused. */
  put(...commands: readonly ProjectCommand[]): Promise<void> {
    return this.putIn('boiler', ...commands)
  }

  async putIn(project: string, ...commands: readonly ProjectCommand[]): Promise<void> {
    const asked = commands.map((command) => this.system.ask(projectAddress('default', project), command))
    await during(this.world, Promise.all(asked))
  }

  async putGroup(id: string, devices: readonly string[]): Promise<void> {
    const isNew = !this.system.wake(tenantAddress('default')).groups.has(id)
    const command = { type: 'put_group', id, isNew, body: { name: id, devices }, author: ada } as const
    await during(this.world, this.system.ask(tenantAddress('default'), command))
  }
}

export async function openProjects(options: ProjectsFixtureOptions = {}): Promise<ProjectsFixture> {
  const fixture = new ProjectsFixture(options)
  await fixture.open()
  return fixture
}

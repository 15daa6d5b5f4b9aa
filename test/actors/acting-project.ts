import type { ProjectNotices } from '#actors/notice-bus'
import { projectActor } from '#actors/project/project'
import type { ProjectCommand, ProjectCommands, ProjectState, ScanRequest, Stage } from '#actors/project/state'
import type { StoredRelease } from '#model/release'
import type { RolloutBody } from '#model/rollout'
import type { CommandOf } from '#runtime/actor'
import { ActingActor, indexChangesOf, outcomeOf } from '#test/actors/acting-actor'
import { RecordedLines } from '#test/actors/recording-notices'

export class RecordingProjects extends RecordedLines implements ProjectNotices {
  releasesChanged: ProjectNotices['releasesChanged'] = (tenant, project, before, after, release) => {
    this.lines.push(`${tenant}/${project}/${release} ${shortOf(before)} → ${shortOf(after)}`)
  }

  scanRequested: ProjectNotices['scanRequested'] = (tenant, project) => {
    this.lines.push(`scan ${tenant}/${project}`)
  }

  rolloutChanged: ProjectNotices['rolloutChanged'] = (tenant, project) => {
    this.lines.push(`rollout ${tenant}/${project}`)
  }
}

export const ada = 'crn#user:2Vb7qYx9Kd'
export const bob = 'crn#user:3Nc7xJr4Vq'

/** Project `boiler` of tenant `t`, without a runtime. */
export class ActingProject extends ActingActor<ProjectState, ProjectCommand> {
  readonly notices: RecordingProjects

  constructor() {
    const notices = new RecordingProjects()
    super(projectActor(notices), { tenant: 't', id: 'boiler' })
    this.notices = notices
  }

  all(...commands: ProjectCommand[]): unknown[] {
    return commands.map((command) => outcomeOf(this.act(command)))
  }

  indexed(command: ProjectCommand): string[] {
    return indexChangesOf(this.record(command))
  }

  /** Moves this many devices from one stage of the present rollout to another. */
  move(from: Stage | null, to: Stage | null, count = 1): void {
    const rollout = this.state.rollout?.id ?? null
    for (let done = 0; done < count; done++) this.act(moved(from, to, { rollout }))
  }
}

/** A release. The digest of its bytes is the character `image`, repeated. */
export function releaseOf(firmware: string, more: Partial<StoredRelease> & { image?: string } = {}): StoredRelease {
  const { image = 'a', ...fields } = more
  return {
    firmware,
    hardware: null,
    index: 0,
    sha256: image.repeat(64),
    size: 65_536,
    createdAt: 1_763_700_000_000,
    createdBy: ada,
    ...fields,
  }
}

export function putRelease(firmware: string, more: Parameters<typeof releaseOf>[1] = {}): ProjectCommand {
  return { type: 'put_release', release: releaseOf(firmware, more) }
}

export function putRollout(firmware: string, more: Partial<RolloutBody> = {}, id = 'R1', author = ada): ProjectCommand {
  return { type: 'put_rollout', body: { firmware, percent: 100, ...more }, id, author }
}

export function moved(
  from: Stage | null,
  to: Stage | null,
  more: Partial<ProjectCommands['job_moved']> = {},
): CommandOf<ProjectCommands, 'job_moved'> {
  const release = { firmware: '2.0.0', hardware: null, index: 0 }
  return { type: 'job_moved', release, rollout: null, from, to, ...more }
}

export function requestScan(
  by: ScanRequest['by'],
  devices: readonly string[] | null,
  author: string | null = null,
): ProjectCommand {
  return { type: 'scan', request: { by, devices, author } }
}

function shortOf(sha256: string | null): string {
  return sha256?.slice(0, 1) ?? 'none'
}

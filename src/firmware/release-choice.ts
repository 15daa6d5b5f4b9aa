import { shelfName } from '#actors/project/shelves'
import type { ProjectState } from '#actors/project/state'
import { isNewer } from '#model/firmware-order'
import type { StoredRelease } from '#model/release'
import type { StoredRollout } from '#model/rollout'
import type { UpdateQuestion } from '#model/update-offer'

/** What a device is to have, and why. */
export interface ReleaseChoice {
  readonly release: StoredRelease
  readonly isPinned: boolean
  /** By which it comes, if by one. */
  readonly rollout: StoredRollout | null
}

/**
 * Which release of a project answers a question. In this order:
 *
 * 1. A device that is held at a version gets that one, older or newer, unless it has it; where there is no such release for
 *    it, it gets none. A version that there is for other firmwares of devices only does not hold this one.
 * 2. By itself, where there is a rollout, it gets what is rolled out, if that is newer and `isMeant` says so; else none.
 * 3. Otherwise it gets the newest, if that is newer.
 *
 * A release fits by its index, and by its hardware unless it is for any; the one that names it comes first.
 */
export function chooseRelease(
  project: ProjectState,
  question: UpdateQuestion,
  isMeant: (rollout: StoredRollout) => boolean,
): ReleaseChoice | undefined {
  const { device, firmware, isAutomatic } = question
  const held = project.pins.get(device)
  if (held !== undefined && isHeldAt(project, held, question)) {
    const release = releaseOf(project, held, question)
    return release && held !== firmware ? { release, isPinned: true, rollout: null } : undefined
  }
  const rollout = (isAutomatic && project.rollout) || null
  const release = rollout ? releaseOf(project, rollout.body.firmware, question) : newestOf(project, question)
  if (!release || !isNewer(release.firmware, firmware)) return undefined
  return !rollout || isMeant(rollout) ? { release, isPinned: false, rollout } : undefined
}

function isHeldAt({ shelves }: ProjectState, version: string, { index }: UpdateQuestion): boolean {
  const releases = shelves.versions.get(version)
  return !releases || releases.some((release) => release.index === index)
}

/** The release of a version that fits. */
function releaseOf(
  { shelves }: ProjectState,
  version: string,
  { index, hardware }: UpdateQuestion,
): StoredRelease | undefined {
  const all = (shelves.versions.get(version) ?? []).filter((release) => release.index === index)
  return (
    all.find((release) => release.hardware === (hardware ?? null)) ?? all.find((release) => release.hardware === null)
  )
}

function newestOf({ shelves }: ProjectState, { index, hardware }: UpdateQuestion): StoredRelease | undefined {
  const named = shelves.newest.get(shelfName(index, hardware ?? null))
  const any = hardware === undefined ? undefined : shelves.newest.get(shelfName(index, null))
  return named && any ? (isNewer(any.firmware, named.firmware) ? any : named) : (named ?? any)
}

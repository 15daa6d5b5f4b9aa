import { projectAddress } from '#actors/project/address'
import * as api from '#api/update-projects'
import { partNameOf } from '#firmware/part-name'
import { type Binding, bind } from '#http/call'
import type { Caller } from '#model/caller'
import { byPrecedence } from '#model/firmware-order'
import { Problem } from '#model/problem'
import { type ReleaseKey, releaseEntryOf, releaseName, type StoredRelease } from '#model/release'
import type { RouteContext } from '#routes/context'
import { embeddedOnly, mustReachAll, projectThere } from '#routes/embedded-projects'
import { upload } from '#routes/release-upload'
import { textReply } from '#routes/streamed'
import { ConcurrencyLimit } from '#runtime/concurrency-limit'

/** Of the 64 uploads that the image store takes at once. */
const uploadLimits = { things: 'uploads', perUserMax: 8, perTenantMax: 32 }

/** Who answers for releases of firmware. Contract 6. */
export function releaseRoutes(context: RouteContext): Binding[] {
  const uploads = new ConcurrencyLimit(uploadLimits)
  return embeddedOnly(context, [
    bind(api.listReleases, ({ caller, parameters: { project } }) => {
      const { releases } = projectThere(context, caller.tenant, project)
      return textReply(context, JSON.stringify([...releases.values()].sort(inOrder).map(releaseEntryOf)))
    }),

    bind(api.readRelease, ({ caller, parameters: { project, firmware }, query }) => {
      const release = releaseThere(context, caller, project, releaseKeyOf(firmware, query))
      return textReply(context, JSON.stringify(releaseEntryOf(release)))
    }),

    bind(api.putRelease, async (call) => {
      uploads.check(call.caller)
      uploads.enter(call.caller)
      try {
        return await upload(context, call, releaseKeyOf(call.parameters.firmware, call.query))
      } finally {
        uploads.leave(call.caller)
      }
    }),

    bind(api.deleteRelease, async ({ caller, parameters: { project, firmware }, query }) => {
      mustReachAll(caller, 'delete')
      const key = releaseKeyOf(firmware, query)
      const { size } = releaseThere(context, caller, project, key)
      // A server that was killed may have left it; whoever asked for it later would have the release again.
      await context.images.letGo(partNameOf(context.system, caller.tenant, project, releaseName(key), size))
      await context.system.ask(projectAddress(caller.tenant, project), { type: 'delete_release', key })
      return { status: 204 }
    }),
  ])
}

function releaseKeyOf(firmware: string, { hardware, index = 0 }: api.ReleaseQuery): ReleaseKey {
  return { firmware, hardware: hardware ?? null, index }
}

/** @throws Problem `not_found` */
function releaseThere(context: RouteContext, { tenant }: Caller, project: string, key: ReleaseKey): StoredRelease {
  const release = context.system.look(projectAddress(tenant, project)).releases.get(releaseName(key))
  if (!release) throw new Problem('not_found')
  return release
}

/** By index, then hardware, those for any in front, then precedence. */
function inOrder(one: StoredRelease, next: StoredRelease): number {
  const byHardware = () => byText(one.hardware ?? '', next.hardware ?? '')
  const byFirmware = () => byPrecedence(one.firmware, next.firmware) || byText(one.firmware, next.firmware)
  return one.index - next.index || byHardware() || byFirmware()
}

function byText(one: string, next: string): number {
  return one === next ? 0 : one < next ? -1 : 1
}

import type { DeleteMetaKey, PatchMeta } from '#actors/device/commands'
import type { DeviceState } from '#actors/device/state'
import type { Entry } from '#model/entry'
import { changeMeta } from '#model/meta'
import { Problem } from '#model/problem'
import { answer, type Decision, record, refuse, type Turn } from '#runtime/actor'

/** Contract 3.10: a merge patch. Without a change there is no event. Answered with the resulting metadata. */
export function decidePatchMeta(state: DeviceState, { patch }: PatchMeta, turn: Turn): Decision<Entry> {
  if (!state.exists) return refuse(new Problem('not_found'))
  const change = changeMeta(state.meta, patch)
  if ('refusal' in change) {
    return refuse(new Problem('invalid', undefined, { details: [{ path: '', message: change.refusal }] }))
  }
  if (JSON.stringify(change.meta) === JSON.stringify(state.meta)) return answer(state.meta)
  return record([{ kind: 'meta_set', device: state.device, at: turn.now, meta: change.meta }], { answer: change.meta })
}

export function decideDeleteMetaKey(state: DeviceState, { key }: DeleteMetaKey, turn: Turn): Decision<Entry> {
  if (!state.exists || !Object.hasOwn(state.meta, key)) return refuse(new Problem('not_found'))
  return record([{ kind: 'meta_deleted', device: state.device, at: turn.now, key }])
}

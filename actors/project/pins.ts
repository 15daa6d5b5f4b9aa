import type { DeletePin, PutPin, PutPinAnswer } from '#actors/project/commands'
import { type ProjectState, pinPrefix, projectIndexChanges } from '#actors/project/state'
import { recordsWithoutEntry } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { pinsMax } from '#model/release'
import { answer, type Decision, refuse } from '#runtime/actor'

/** Contract 6. Neither the device nor a release of that version has to exist. */
export function decidePutPin(state: ProjectState, { device, firmware }: PutPin): Decision<Entry> {
  const before = state.pins.get(device)
  const isNew = before === undefined
  if (before === firmware) return answer({ isNew } satisfies PutPinAnswer)
  if (isNew && state.pins.size >= pinsMax) {
    return refuse(new Problem('conflict', `a project has at most ${pinsMax} pins`))
  }
  return recordsWithoutEntry([{ name: `${pinPrefix}${device}`, value: firmware }], {
    indexes: isNew ? projectIndexChanges(state, 1) : [],
    answer: { isNew } satisfies PutPinAnswer,
  })
}

export function decideDeletePin(state: ProjectState, { device }: DeletePin): Decision<Entry> {
  if (!state.pins.has(device)) return refuse(new Problem('not_found'))
  return recordsWithoutEntry([{ name: `${pinPrefix}${device}`, value: null }], {
    indexes: projectIndexChanges(state, -1),
  })
}

import type { DeviceState } from '#actors/device/state'
import type { FoundUpdate } from '#actors/update/commands'
import type { OfferedFirmware, UpdateQuery } from '#model/update-offer'

type Offered = OfferedFirmware | undefined

/**
 * The questions to the update server about a device: one for each firmware, by index. Empty without a project or
 * firmware. `only`: these indexes.
 */
export function questionsOf(
  tenant: string,
  { device, project, firmwares }: Pick<DeviceState, 'device' | 'project' | 'firmwares'>,
  isAutomatic: boolean,
  only?: readonly number[],
): readonly UpdateQuery[] {
  if (project === null) return []
  const requested = only ? firmwares.filter(({ index }) => only.includes(index)) : [...firmwares]
  return requested
    .sort((a, b) => a.index - b.index)
    .map(({ firmware, hardware, index }) => {
      return { tenant, device, project, firmware, ...(hardware !== undefined && { hardware }), index, isAutomatic }
    })
}

/** The first firmware of a device with a wanted update. Synchronous if all answers are. An error ends the search. */
export function firstUpdate(
  questions: readonly UpdateQuery[],
  ask: (question: UpdateQuery) => Offered | Promise<Offered>,
  isWanted: (offer: OfferedFirmware, question: UpdateQuery) => boolean,
): FoundUpdate | undefined | Promise<FoundUpdate | undefined> {
  const [question, ...later] = questions
  if (!question) return undefined
  const goOn = (offer: Offered) => {
    if (!offer || !isWanted(offer, question)) return firstUpdate(later, ask, isWanted)
    return { index: question.index, from: question.firmware, offer, rest: later.map(({ index }) => index) }
  }
  const offer = ask(question)
  return offer instanceof Promise ? offer.then(goOn) : goOn(offer)
}

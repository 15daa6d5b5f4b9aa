import type { AlarmedFleet } from '#bench/load/alarms'
import { identifierOf, serviceIdentifier } from '#bench/load/fleet-link'
import { firstPropId } from '#bench/load/update-template'

/**
 * What becomes of the function of a load, which each change triggers. `quiet`: its condition never holds. `throttled`: one
 * mail a minute and device. `unthrottled`: every change asks for one. `elsewhere`: as that, and it means other devices.
 */
export type FunctionManner = 'quiet' | 'throttled' | 'unthrottled' | 'elsewhere'

/** Of every mail of a load. */
export const loadTemplate = 'load'

/** What those say. */
export const templateBody = {
  locales: {
    en: {
      subject: '{{deviceIdentifier}}: {{value}}',
      text: '{{function}}: {{property}} of {{deviceIdentifier}} is {{value}}, and was {{previous}}.\n',
    },
  },
} as const

const throttleSeconds = 60
const otherPrefix = 'ELSEWHERE'

/** The group that the function is bound to: the whole fleet, or as many devices that are none of it. */
export function functionGroupBody(manner: FunctionManner, { devices, prefix }: AlarmedFleet): object {
  const names = Array.from({ length: devices }, (_, device) =>
    identifierOf(manner === 'elsewhere' ? otherPrefix : prefix, device),
  )
  return { name: 'Load', devices: names }
}

/** A trigger for each property that a frame changes, all leading the same way. `group`: its id. */
export function functionBody(manner: FunctionManner, { changes }: AlarmedFleet, group: string): object {
  const triggers = Array.from({ length: changes }, (_, place) => ({
    id: `change-${place}`,
    type: 'trigger',
    on: 'property',
    serviceIdentifier,
    propId: firstPropId + place,
  }))
  const behind = [...between(manner), { id: 'tell', type: 'email', template: loadTemplate }]
  const [first] = behind
  const edges = [
    ...triggers.map(({ id }) => [id, first?.id]),
    ...behind.slice(1).map(({ id }, place) => [behind[place]?.id, id]),
  ]
  return { name: 'Load', binding: { groups: [group] }, graph: { nodes: [...triggers, ...behind], edges } }
}

/** Values of a load are never negative. */
function between(manner: FunctionManner): readonly { readonly id: string; readonly type: string }[] {
  if (manner === 'quiet') {
    const never = { id: 'never', type: 'condition', logic: { '<': [{ var: 'value' }, 0] } }
    return [never]
  }
  const seldom = { id: 'seldom', type: 'throttle', seconds: throttleSeconds }
  return manner === 'throttled' ? [seldom] : []
}

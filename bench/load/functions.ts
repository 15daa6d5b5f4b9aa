import { identifierOf, serviceIdentifier } from '#bench/load/fleet-link'
import { firstPropId } from '#bench/load/update-template'

/**
 * What becomes of a load's function, which each change of its devices' first property triggers. `quiet`: its condition
 * never holds. `unthrottled`: it always holds, and somebody is to hear of each change. `throttled`: the same, but of each
 * device once in a minute at most. `elsewhere`: as `unthrottled`, and it means other devices.
 */
export type FunctionManner = 'quiet' | 'throttled' | 'unthrottled' | 'elsewhere'

/** The ids of groups: the devices of the load, and as many that there are not. */
export interface FunctionGroups {
  readonly ours: string
  readonly others: string
}

/** What mails say. Contract 5.5. */
export const template = {
  name: 'load',
  locales: {
    en: {
      subject: '{{deviceIdentifier}}: {{value}}',
      text: '{{function}}: {{deviceIdentifier}} is at {{value}}, and was at {{previous}}.\n',
    },
  },
} as const

const otherPrefix = 'ELSEWHERE'
const throttleSeconds = 60

/** As `POST /groups` takes it; a group has 10 000 devices at most. */
export function groupBodies(devices: number, prefix: string): Readonly<Record<keyof FunctionGroups, object>> {
  const named = (of: string) => Array.from({ length: devices }, (_, device) => identifierOf(of, device))
  return {
    ours: { name: 'Load', devices: named(prefix) },
    others: { name: 'Elsewhere', devices: named(otherPrefix) },
  }
}

/** As `PATCH /functions/:functionId` takes it. */
export function functionBody(manner: FunctionManner, groups: FunctionGroups): object {
  return {
    name: 'Load',
    enabled: true,
    binding: { groups: [manner === 'elsewhere' ? groups.others : groups.ours] },
    graph: graphOf(manner),
  }
}

/** Values are never below 0. */
function graphOf(manner: FunctionManner): object {
  const isThrottled = manner === 'throttled'
  const nodes = [
    { id: 'change', type: 'trigger', on: 'property', serviceIdentifier, propId: firstPropId },
    { id: 'range', type: 'condition', logic: { [manner === 'quiet' ? '<' : '>=']: [{ var: 'value' }, 0] } },
    ...(isThrottled ? [{ id: 'minute', type: 'throttle', seconds: throttleSeconds }] : []),
    { id: 'mail', type: 'email', template: template.name },
  ]
  const edges = nodes.slice(1).map(({ id }, place) => [nodes[place]?.id, id])
  return { nodes, edges }
}

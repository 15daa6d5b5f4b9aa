import { runOperands } from '#dashboard/conditions/operands'
import { conditionInWords } from '#dashboard/conditions/rows'
import { type Draft, type DraftNode, isEnd, isTrigger } from '#dashboard/pages/functions/graph-draft'
import type { ServiceSchema } from '#model/service-schema'

/** Short descriptions of nodes: for the picture and for lists. */

export interface Names {
  readonly schemas: ReadonlyMap<string, ServiceSchema>
  /** By id. */
  readonly alarms: ReadonlyMap<string, string>
}

export function nodeInWords(node: DraftNode, names: Names): string {
  switch (node.kind) {
    case 'property':
      return `${propertyName(node.service, node.property, names) || 'a value'} ${becomesText(node.to, 'changes')}`
    case 'alarm':
      return `${names.alarms.get(node.alarm) ?? 'an alarm'} ${becomesText(node.to, 'changes state')}`
    case 'status':
      return `device ${becomesText(node.to, 'changes status')}`
    case 'condition':
      return node.logic === undefined ? 'if …' : `if ${conditionInWords(node.logic, runOperands)}`
    case 'throttle':
      return `once in ${node.seconds === undefined ? '…' : secondsInWords(node.seconds)}`
    case 'email':
      return `mail ${node.template || '…'}`
    case 'webhook':
      return `call ${/^https?:\/\/([^/?]+)/.exec(node.url)?.[1] ?? '…'}`
  }
}

/** `temperature changes → mail too-hot`: its triggers, and its mails and webhooks. */
export function graphInWords({ nodes }: Draft, names: Names): string {
  const triggers = nodes.filter(isTrigger).map((node) => nodeInWords(node, names))
  const ends = nodes.filter(isEnd).map((node) => nodeInWords(node, names))
  return `${triggers.join(' or ')} → ${ends.join(', ') || 'nothing'}`
}

/** The name in the schema, or the id. `property`: `0x2000`. */
function propertyName(service: string, property: string, { schemas }: Names): string {
  return schemas.get(service)?.properties[property]?.name ?? property
}

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const

/** In the largest unit without a fraction: `2 h`. */
export function secondsInWords(seconds: number): string {
  const [name, size] = units.find(([, unit]) => seconds % unit === 0 && seconds > 0) ?? ['s', 1]
  return `${seconds / size} ${name}`
}

function becomesText(to: Target, otherwise: string): string {
  return to === undefined ? otherwise : `becomes ${to === null ? 'nothing' : String(to)}`
}

type Target = string | number | boolean | null | undefined

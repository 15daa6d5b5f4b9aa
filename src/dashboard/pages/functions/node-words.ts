import type { Names } from '#dashboard/binding/binding'
import { runOperands } from '#dashboard/conditions/operands'
import { conditionInWords } from '#dashboard/conditions/rows'
import { type Draft, type DraftNode, isEnd, isTrigger, type To } from '#dashboard/pages/functions/graph-draft'
import { exactDuration } from '#dashboard/values/format-value'

/** Short descriptions of nodes: for the picture and for lists. */

export function nodeInWords(node: DraftNode, names: Names): string {
  switch (node.kind) {
    case 'property':
      return `${propertyName(node.serviceIdentifier, node.propId, names) || 'a value'} ${becomesText(node.to, 'changes')}`
    case 'alarm':
      return `${names.alarms.get(node.alarmId) ?? 'an alarm'} ${becomesText(node.to, 'changes state')}`
    case 'status':
      return `device ${becomesText(node.to, 'changes status')}`
    case 'condition':
      return node.logic === undefined ? 'if …' : `if ${conditionInWords(node.logic, runOperands)}`
    case 'throttle':
      return `at most every ${node.seconds === undefined ? '…' : exactDuration(node.seconds * 1_000)}`
    case 'email':
      return `mail ${node.template || '…'}`
    case 'webhook':
      return `call ${/^https?:\/\/([^/?]+)/.exec(node.url)?.[1] ?? '…'}`
  }
}

/** `temperature changes → mail too-hot`: the triggers, mails and webhooks of a graph. */
export function graphInWords({ nodes }: Draft, names: Names): string {
  const triggers = nodes.filter(isTrigger).map((node) => nodeInWords(node, names))
  const ends = nodes.filter(isEnd).map((node) => nodeInWords(node, names))
  return `${triggers.join(' or ')} → ${ends.join(', ') || 'nothing'}`
}

/** The name in the schema, or the id. `property`: `0x2000`. */
function propertyName(service: string, property: string, { schemas }: Names): string {
  return schemas.get(service)?.properties[property]?.name ?? property
}

function becomesText(to: To | undefined, otherwise: string): string {
  return to === undefined ? otherwise : `becomes ${to === null ? 'nothing' : String(to)}`
}

import type { RuleNotices } from '#actors/rule-notices'

/** Notices about rules as lines, in the order in which they came. */
export class RecordingRules implements RuleNotices {
  readonly said: string[] = []

  /** What was said since the last look. */
  get heard(): string[] {
    return this.said.splice(0)
  }

  alarmChanged: RuleNotices['alarmChanged'] = (tenant, id, stored) => {
    this.said.push(`alarm ${tenant}/${id} ${stored ? `${stored.name} by ${stored.updatedBy}` : 'gone'}`)
  }

  groupChanged: RuleNotices['groupChanged'] = (tenant, id, stored) => {
    this.said.push(`group ${tenant}/${id} ${stored ? stored.devices.join() : 'gone'}`)
  }

  functionChanged: RuleNotices['functionChanged'] = (tenant, id, stored) => {
    this.said.push(`function ${tenant}/${id} ${stored ? `${stored.name} by ${stored.updatedBy}` : 'gone'}`)
  }

  templateChanged: RuleNotices['templateChanged'] = (tenant, name, stored) => {
    this.said.push(`template ${tenant}/${name} ${stored ? Object.keys(stored.locales).join() : 'gone'}`)
  }

  schemaChanged: RuleNotices['schemaChanged'] = (tenant, service, schema) => {
    this.said.push(`schema ${tenant}/${service} ${schema ? schema.name : 'gone'}`)
  }
}

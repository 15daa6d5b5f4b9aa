import type { IdentityNotices, RuleNotices } from '#actors/notice-bus'

/** Records notices as lines, in their order. */
export class RecordedLines {
  readonly lines: string[] = []

  /** The lines since the last call. */
  get received(): string[] {
    return this.lines.splice(0)
  }
}

export class RecordingRules extends RecordedLines implements RuleNotices {
  alarmChanged: RuleNotices['alarmChanged'] = (tenant, id, stored) => {
    this.lines.push(`alarm ${tenant}/${id} ${stored ? `${stored.name} by ${stored.updatedBy}` : 'gone'}`)
  }

  groupChanged: RuleNotices['groupChanged'] = (tenant, id, stored) => {
    this.lines.push(`group ${tenant}/${id} ${stored ? stored.devices.join() : 'gone'}`)
  }

  functionChanged: RuleNotices['functionChanged'] = (tenant, id, stored) => {
    this.lines.push(`function ${tenant}/${id} ${stored ? `${stored.name} by ${stored.updatedBy}` : 'gone'}`)
  }

  templateChanged: RuleNotices['templateChanged'] = (tenant, name, stored) => {
    this.lines.push(`template ${tenant}/${name} ${stored ? Object.keys(stored.locales).join() : 'gone'}`)
  }

  schemaChanged: RuleNotices['schemaChanged'] = (tenant, service, schema) => {
    this.lines.push(`schema ${tenant}/${service} ${schema ? schema.name : 'gone'}`)
  }
}

export class RecordingNotices extends RecordedLines implements IdentityNotices {
  sessionEnded: IdentityNotices['sessionEnded'] = (tenant, session) => {
    this.lines.push(`session ${tenant}/${session} ended`)
  }

  roleChanged: IdentityNotices['roleChanged'] = (tenant, role, stored) => {
    this.lines.push(`role ${tenant}/${role} ${stored ? `since ${stored.since}` : 'gone'}`)
  }

  userChanged: IdentityNotices['userChanged'] = (user, row) => {
    const state = row ? `of ${row.tenant} ${row.state} ${row.roles.join()} since ${row.rolesSince}` : 'gone'
    this.lines.push(`user ${user} ${state}`)
  }

  tenantChanged: IdentityNotices['tenantChanged'] = (tenant, row) => {
    this.lines.push(`tenant ${tenant} ${row?.state ?? 'gone'}`)
  }

  keyEnded: IdentityNotices['keyEnded'] = (tenant, key, kind) => {
    this.lines.push(`${kind} ${tenant}/${key} ended`)
  }

  signingKeyChanged: IdentityNotices['signingKeyChanged'] = (kid, stored) => {
    this.lines.push(`signing key ${kid} ${stored ? `retires at ${stored.retiresAt}` : 'gone'}`)
  }

  signingKeyIsOld: IdentityNotices['signingKeyIsOld'] = () => {
    this.lines.push('the signing key is old')
  }
}

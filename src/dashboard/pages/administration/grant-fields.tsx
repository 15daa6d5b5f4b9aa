import type { ComponentChildren } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import type { GroupOption } from '#dashboard/binding/binding'
import { DevicePicker, GroupCheckboxes } from '#dashboard/binding/binding-fields'
import { useGroups, useKnownServices } from '#dashboard/binding/known-names'
import { Button } from '#dashboard/components/button'
import { Checkbox, Checkboxes, Field, TextField } from '#dashboard/components/fields'
import { useCall } from '#dashboard/components/use-call'
import {
  type AccessLevel,
  deviceFilterOf,
  grantText,
  levelOf,
  levels,
  namedActions,
  parseNames,
  resourceRows,
  singleActions,
  withActions,
  withGroups,
  withToggledAction,
} from '#dashboard/pages/administration/grants'
import { tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { client } from '#dashboard/session'
import { runAfter } from '#dashboard/timers'
import { countText } from '#dashboard/values/format-value'
import type { Grant } from '#model/scope'

interface GrantFieldsProps {
  readonly grant: Grant
  /** The number of the grant in the form, from 1. */
  readonly number: number
  readonly onChange?: ((grant: Grant) => void) | undefined
  readonly onRemove?: (() => void) | undefined
}

/** One grant: its permissions, and its devices and services. Read-only without `onChange`. */
export function GrantFields({ grant, number, onChange, onRemove }: GrantFieldsProps) {
  const groups = useGroups()
  const count = useDeviceCount(grant, groups)
  const coverage = count !== undefined && <p class="hint">Covers {countText(count, 'device')} now.</p>
  return (
    <Field label={`Grant ${number}`}>
      {onChange ? (
        <>
          <ul class="permissions">
            {resourceRows.map((row) => (
              <li key={row.resource}>
                <Permission {...{ row, grant, onChange }} />
              </li>
            ))}
          </ul>
          <AllOrSome what="devices" names={grant.devices} onChange={(devices) => onChange({ ...grant, devices })}>
            <DevicePicker
              label="Devices"
              value={grant.devices}
              onChange={(devices) => onChange({ ...grant, devices: [...devices] })}
            />
            <p class="hint">PUMP-* are all devices whose identifiers begin with PUMP-.</p>
            <GroupCheckboxes
              groups={groups}
              value={grant.groups ?? []}
              onChange={(chosen) => onChange(withGroups(grant, chosen))}
            />
          </AllOrSome>
          {coverage}
          <AllOrSome what="services" names={grant.services} onChange={(services) => onChange({ ...grant, services })}>
            <Services names={grant.services} onChange={(services) => onChange({ ...grant, services })} />
          </AllOrSome>
        </>
      ) : (
        <>
          <p>{grantText(grant)}.</p>
          {coverage}
        </>
      )}
      {onRemove && (
        <div>
          <Button kind="quiet" onPress={onRemove}>
            Remove grant {number}
          </Button>
        </div>
      )}
    </Field>
  )
}

const pageSize = 10_000
const typingMs = 300

/** The number of devices that a grant covers now; undefined while it is not known. */
function useDeviceCount(grant: Grant, groups: readonly GroupOption[] | undefined): number | undefined {
  // The page cannot read devices of another tenant.
  const filter = 'tenant' in tenantQuery() ? undefined : JSON.stringify(deviceFilterOf(grant, groups ?? []))
  const [asked, setAsked] = useState(filter)
  useEffect(() => runAfter(typingMs, () => setAsked(filter)), [filter])
  const { value } = useCall(async () => {
    if (asked === undefined) return undefined
    let count = 0
    for await (const page of client.pages('GET /devices', { query: { filter: asked, limit: pageSize } })) {
      count += page.length
    }
    return count
  }, [asked])
  return asked === filter ? value : undefined
}

interface NamesProps {
  readonly names: readonly string[]
  readonly onChange: (names: string[]) => void
}

interface AllOrSomeProps extends NamesProps {
  readonly what: 'devices' | 'services'
  readonly children: ComponentChildren
}

/** A checkbox for all devices or services. While it is off, shows the children, in which some are chosen. */
function AllOrSome({ what, names, onChange, children }: AllOrSomeProps) {
  const isAll = names.includes('*')
  return (
    <>
      <Checkbox label={`All ${what}`} value={isAll} onChange={(isOn) => onChange(isOn ? ['*'] : [])} />
      {!isAll && children}
    </>
  )
}

/** Known services by name; others, which need not exist yet, by identifier. */
function Services({ names, onChange }: NamesProps) {
  const known = useKnownServices()
  const isKnown = (name: string) => known.some(({ value }) => value === name)
  // The text as typed: a comma at the end begins the next name.
  const [text, setText] = useState(() => names.filter((name) => !isKnown(name)).join(', '))
  return (
    <Field label="Services">
      <Checkboxes options={known} value={names} onChange={onChange} />
      <TextField
        label="Other services"
        hint="Their identifiers, separated by commas. They need not exist yet."
        isCode
        placeholder="climate"
        value={text}
        onChange={(typed) => {
          setText(typed)
          onChange([...new Set([...names.filter(isKnown), ...parseNames(typed)])])
        }}
      />
    </Field>
  )
}

const custom = 'selected actions'

interface PermissionProps {
  readonly row: (typeof resourceRows)[number]
  readonly grant: Grant
  readonly onChange: (grant: Grant) => void
}

/** The permission on a resource: a level, or single actions where no level fits. */
function Permission({ row: { resource, name, meaning }, grant, onChange }: PermissionProps) {
  const id = useId()
  const level = levelOf(grant, resource)
  const [isCustom, setCustom] = useState(level === undefined)
  const named = namedActions(grant, resource)
  const implied = resource === '*' ? [] : namedActions(grant, '*')
  return (
    <>
      <div class="permission">
        <span>
          <label for={id}>{name}</label>
          <small class="soft" id={`${id}-hint`}>
            {meaning}
          </small>
        </span>
        <select
          id={id}
          class="input"
          aria-describedby={`${id}-hint`}
          value={isCustom ? custom : level}
          onChange={({ currentTarget: { value } }) => {
            setCustom(value === custom)
            if (value !== custom) onChange(withActions(grant, resource, levels[value as AccessLevel]))
          }}
        >
          {[...Object.keys(levels), custom].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </div>
      {isCustom && (
        <div class="checkboxes">
          {singleActions.map((action) => (
            <Checkbox
              key={action}
              label={`${action} ${name}`}
              value={named.includes(action) || implied.includes(action)}
              isDisabled={implied.includes(action)}
              onChange={() => onChange(withToggledAction(grant, resource, action))}
            />
          ))}
        </div>
      )}
      {implied.length > 0 && (
        <small class="hint">
          From “any resource”: {implied.length < singleActions.length ? implied.join(', ') : 'everything'}
        </small>
      )}
    </>
  )
}

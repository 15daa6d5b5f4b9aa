import { useId, useState } from 'preact/hooks'
import {
  type Level,
  levelOf,
  levels,
  namedActions,
  namesIn,
  namesText,
  permissionsText,
  type ResourceRow,
  resourceRows,
  singleActions,
  toggled,
  withActions,
} from '#dashboard/pages/administration/grants'
import { Button } from '#dashboard/parts/button'
import { Checkbox, Field, TextField } from '#dashboard/parts/fields'
import type { Grant } from '#model/scope'

interface GrantFieldsProps {
  readonly grant: Grant
  /** From 1. */
  readonly number: number
  readonly onChange?: ((grant: Grant) => void) | undefined
  readonly onRemove?: (() => void) | undefined
}

/** One grant: its permissions, and its devices and services. Read-only without `onChange`. */
export function GrantFields({ grant, number, onChange, onRemove }: GrantFieldsProps) {
  return (
    <Field label={`Grant ${number}`}>
      {onChange ? (
        <>
          <Permissions grant={grant} onChange={onChange} />
          <Names
            what="device"
            names={grant.devices}
            placeholder="LAMP-1, LAMP-2"
            onChange={(devices) => onChange({ ...grant, devices })}
          />
          <Names
            what="service"
            names={grant.services}
            placeholder="climate"
            onChange={(services) => onChange({ ...grant, services })}
          />
        </>
      ) : (
        <p>
          {permissionsText(grant)} — on {namesText(grant.devices, 'device')}, {namesText(grant.services, 'service')}.
        </p>
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

/** All names, or a list. */
function Names({
  what,
  names,
  placeholder,
  onChange,
}: {
  readonly what: 'device' | 'service'
  readonly names: readonly string[]
  readonly placeholder: string
  readonly onChange: (names: string[]) => void
}) {
  const isAll = names.includes('*')
  // The text as typed: a comma at the end begins the next name.
  const [text, setText] = useState(isAll ? '' : names.join('\n'))
  return (
    <>
      <Checkbox label={`All ${what}s`} isChecked={isAll} onChange={(isOn) => onChange(isOn ? ['*'] : namesIn(text))} />
      {!isAll && (
        <TextField
          label={what === 'device' ? 'Devices' : 'Services'}
          hint="One for each line, or separated by commas. They need not exist yet."
          rows={3}
          isCode
          placeholder={placeholder}
          value={text}
          onInput={(typed) => {
            setText(typed)
            onChange(namesIn(typed))
          }}
        />
      )}
    </>
  )
}

/** The permissions of a grant: a level for each resource, and single actions where no level fits. */
function Permissions({ grant, onChange }: { readonly grant: Grant; readonly onChange: (grant: Grant) => void }) {
  return (
    <ul class="permissions">
      {resourceRows.map((row) => (
        <li key={row.resource}>
          <Permission row={row} grant={grant} onChange={onChange} />
        </li>
      ))}
    </ul>
  )
}

const single = 'chosen actions'

function Permission({
  row: { resource, name, meaning },
  grant,
  onChange,
}: {
  readonly row: ResourceRow
  readonly grant: Grant
  readonly onChange: (grant: Grant) => void
}) {
  const id = useId()
  const level = levelOf(grant, resource)
  const [isSingle, setSingle] = useState(level === undefined)
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
          value={isSingle ? single : level}
          onChange={({ currentTarget: { value } }) => {
            setSingle(value === single)
            if (value !== single) onChange(withActions(grant, resource, levels[value as Level]))
          }}
        >
          {[...Object.keys(levels), single].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </div>
      {isSingle && (
        <div class="role-choices">
          {singleActions.map((action) => (
            <Checkbox
              key={action}
              label={`${action} ${name}`}
              isChecked={named.includes(action) || implied.includes(action)}
              isDisabled={implied.includes(action)}
              onChange={() => onChange(toggled(grant, resource, action))}
            />
          ))}
        </div>
      )}
      {implied.length > 0 && (
        <small class="hint">
          By any resource: {implied.length < singleActions.length ? implied.join(', ') : 'everything'}
        </small>
      )}
    </>
  )
}

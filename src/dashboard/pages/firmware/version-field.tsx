import { ChoiceField } from '#dashboard/components/choice-field'
import { versionProblem } from '#dashboard/pages/firmware/names'

interface VersionFieldProps {
  readonly label: string
  readonly hint: string
  readonly versions: readonly string[]
  readonly value: string
  readonly onChange: (version: string) => void
}

/** An existing version, or another one, which may get its release later. */
export function VersionField({ label, hint, versions, value, onChange }: VersionFieldProps) {
  return (
    <ChoiceField
      label={label}
      hint={hint}
      value={value}
      options={versions.map((version) => ({ value: version, label: version }))}
      onChange={onChange}
      other={{ label: 'Other version', placeholder: '1.2.3', problem: versionProblem(value) }}
      isRequired
    />
  )
}
